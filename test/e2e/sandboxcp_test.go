package e2e

import (
	"archive/tar"
	"bytes"
	"errors"
	"path/filepath"
	"strings"
	"testing"
)

// withPipe is an archive of a pipe and a file.
func withPipe(t *testing.T) []byte {
	t.Helper()
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	err := errors.Join(
		w.WriteHeader(&tar.Header{Name: "pipe", Typeflag: tar.TypeFifo, Mode: 0o600}),
		w.WriteHeader(&tar.Header{Name: "file", Mode: 0o600}),
		w.Close(),
	)
	if err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestACopyIntoASandboxReportsWhatItDoesNotExtract(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	id := strings.TrimSpace(m.aibox(0, "sandbox", "create").stdout)
	t.Cleanup(func() { m.exec(aibox, "sandbox", "rm", id) })
	copying := m.cmd(aibox, "sandbox", "cp", "-", id+":/home/user/unpacked")
	copying.Stdin = bytes.NewReader(withPipe(t))
	o := m.finish(copying)
	for _, text := range []string{"in the sandbox: ", `"pipe"`, "the copy is not complete"} {
		if o.code != 4 || !strings.Contains(o.stderr, text) {
			t.Fatalf("the copy of an archive with a pipe does not say %q:\n%s", text, o)
		}
	}
	m.aibox(0, "sandbox", "exec", id, "--", "test", "-f", "/home/user/unpacked/file")
}

func TestArchivesOverRESTReportWhatIsLeftOut(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	s := m.serve("ci")
	id := s.create(`{"network":{"mode":"NETWORK_MODE_NONE"},"timeout":"600s"}`)
	t.Cleanup(func() { s.curl("-X", "DELETE", s.url+"/v1/sandboxes/"+id) })
	packed := filepath.Join(m.home, "packed.tar")
	m.write(packed, string(withPipe(t)))
	archive := s.url + "/v1/sandboxes/" + id + "/files/archive?path=/home/user/f"
	if body, status := s.curl("-X", "PUT", "--data-binary", "@"+packed, archive); status != "200" || !strings.Contains(body, `"leftOut":`) || !strings.Contains(body, "pipe") {
		t.Errorf("the upload of a pipe: %s %s", status, body)
	}
	if body, status := s.curl("-d", `{"argv":["mkfifo","/home/user/f/grün"]}`, s.url+"/v1/sandboxes/"+id+":exec"); status != "200" {
		t.Fatalf("making a pipe: %s %s", status, body)
	}
	headers := filepath.Join(m.home, "headers")
	if _, status := s.curl("-D", headers, "-o", filepath.Join(m.home, "back.tar"), archive); status != "200" {
		t.Fatalf("the download: %s", status)
	}
	if got := m.read(headers); !strings.Contains(got, `Aibox-Left-Out: "f/gr\u00fcn" is left out`) {
		t.Errorf("the headers and trailers of the download are\n%s", got)
	}
}
