package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"aibox/internal/fault"
	"aibox/session/output"
)

// sessionFolder is where storedSession stores a session.
func sessionFolder(id string) string {
	return filepath.Join(os.Getenv("HOME"), ".local/state/aibox/sessions", id)
}

func TestLogsAsJSONHaveOneLineForEachPieceOfOutput(t *testing.T) {
	a, out, _ := testApp(t)
	storedSession(t, "0dq4f-shell", time.Now())
	record, err := output.NewRecorder(sessionFolder("0dq4f-shell"))
	if err != nil {
		t.Fatal(err)
	}
	begin := time.Now().Add(-time.Second)
	for _, piece := range []output.Chunk{
		{Stream: output.Stdout, Data: []byte("first \x1b[31m\n\xc3")},
		{Stream: output.Stderr, Data: []byte("oops\n")},
		{Stream: output.Stdout, Data: []byte("\xb6 \xff\n")},
		{Stream: output.Notice, Data: []byte("the model failed\n")},
	} {
		if err := record.Append(piece.Stream, piece.Data); err != nil {
			t.Fatal(err)
		}
	}
	if err := record.Close(); err != nil {
		t.Fatal(err)
	}
	if code := a.perform(t.Context(), strings.Fields("logs --json 0dq4f")); code != 0 {
		t.Fatalf("exit %d:\n%s", code, out)
	}
	want := []jsonChunk{
		{Offset: 0, Stream: "stdout", Text: "first \x1b[31m\n"},
		{Offset: 14, Stream: "stderr", Text: "oops\n"},
		{Offset: 18, Stream: "stdout", Text: "ö \ufffd\n"},
		{Offset: 23, Stream: "notice", Text: "the model failed\n"},
	}
	lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
	if len(lines) != len(want) || strings.ContainsRune(out.String(), '\x1b') {
		t.Fatalf("printed\n%s", out)
	}
	for i, line := range lines {
		var got jsonChunk
		decoder := json.NewDecoder(strings.NewReader(line))
		decoder.DisallowUnknownFields()
		if err := decoder.Decode(&got); err != nil || got.Time.Before(begin) || got.Stream != want[i].Stream || got.Text != want[i].Text {
			t.Errorf("line %d is %s, want %+v (%v)", i, line, want[i], err)
		}
	}
}

func TestAnErrorInJSONLinesIsTheLastLine(t *testing.T) {
	a, out, _ := testApp(t)
	if code := a.perform(t.Context(), strings.Fields("logs --json 0dq4f")); code != 2 {
		t.Errorf("exit %d", code)
	}
	var got failed
	if err := json.Unmarshal(out.Bytes(), &got); err != nil || got.Error == nil || strings.Count(out.String(), "\n") != 1 {
		t.Errorf("printed %q: %v", out, err)
	}
}

func TestLogsRefusesFlagsThatContradictEachOther(t *testing.T) {
	for _, line := range []string{"logs --json --raw x", "logs --json --screen x", "logs --screen --follow x"} {
		a, _, _ := testApp(t)
		if err := a.execute(t.Context(), strings.Fields(line)); fault.KindOf(err) != fault.Usage || !strings.Contains(err.Error(), "--screen") {
			t.Errorf("%s gives %v", line, err)
		}
	}
}
