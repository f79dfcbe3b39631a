package server

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"runtime"
	"strings"
	"testing"
)

// packed returns data in gzip.
func packed(t *testing.T, data string) string {
	t.Helper()
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	if _, err := w.Write([]byte(data)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// encodedCall is a call with a compressed message in one of the protocols.
type encodedCall struct {
	path, kind, header string
	streamed           bool // the message is in an envelope
}

var encodedCalls = map[string]encodedCall{
	"REST":     {"/v1/sandboxes", "application/json", "Content-Encoding", false},
	"Connect":  {"/aibox.v1.Sandboxes/Create", "application/json", "Content-Encoding", false},
	"stream":   {"/aibox.v1.Processes/Start", "application/connect+json", "Connect-Content-Encoding", true},
	"gRPC-Web": {"/aibox.v1.Sandboxes/Create", "application/grpc-web+json", "Grpc-Encoding", true},
	"gRPC":     {"/aibox.v1.Sandboxes/Create", "application/grpc+json", "Grpc-Encoding", true},
}

// send sends a compressed message. The result has the error wherever the protocol has it.
func (c encodedCall) send(s *site, token, encoding, message string) (status int, text string) {
	if c.streamed {
		head := []byte{1, 0, 0, 0, 0}
		binary.BigEndian.PutUint32(head[1:], uint32(len(message)))
		message = string(head) + message
	}
	got := s.request("POST", c.path, message, token, "Content-Type: "+c.kind, c.header+": "+encoding)
	return got.status, got.body + " grpc-status=" + got.header.Get("Grpc-Status") + " " + got.header.Get("Grpc-Message")
}

func TestAMessageThatIsNoGzipIsInvalidInEveryProtocol(t *testing.T) {
	s := newSite(t, nil)
	token := bearer(s.token("a"))
	whole := packed(t, `{"metadata":{"a":"`+strings.Repeat("b", 1000)+`"}}`)
	for body, message := range map[string]string{
		"no gzip": "{}", "only its beginning": whole[:5], "cut off": whole[:len(whole)-12], "a wrong checksum": whole[:len(whole)-8] + "abcd" + whole[len(whole)-4:],
	} {
		for protocol, call := range encodedCalls {
			status, text := call.send(s, token, "gzip", message)
			isInvalid := status == 400 || strings.Contains(text, `"invalid_argument"`) || strings.Contains(text, "grpc-status=3 ")
			if !isInvalid || !strings.Contains(text, "the message is not valid gzip") {
				t.Errorf("%s, %s: %d %.300s", protocol, body, status, text)
			}
		}
	}
	if s.m.creates > 0 {
		t.Error("a sandbox was created")
	}
}

func TestAnEncodingThatIsNotKnownIsUnsupportedInEveryProtocol(t *testing.T) {
	s := newSite(t, nil)
	token := bearer(s.token("a"))
	for _, encoding := range []string{"br", "zstd", "gzip, gzip"} {
		for protocol, call := range encodedCalls {
			status, text := call.send(s, token, encoding, packed(t, "{}"))
			isUnsupported := status == 415 || strings.Contains(text, `"unimplemented"`) || strings.Contains(text, "grpc-status=12 ")
			if !isUnsupported || strings.Contains(text, "Content-Type") {
				t.Errorf("%s, %s: %d %.300s", protocol, encoding, status, text)
			}
		}
	}
	// What is uploaded is stored as it is: a server that ignores the encoding stores the
	// compressed data under the name of the file.
	path := "/v1/sandboxes/" + s.sandbox("a") + "/files/"
	for _, upload := range []string{path + "content?path=/x", path + "archive?path=/x"} {
		if got := s.request("PUT", upload, packed(t, "x"), token, "Content-Encoding: gzip"); got.status != 415 || !strings.Contains(got.body, "without an encoding") {
			t.Errorf("%s: %d %s", upload, got.status, got.body)
		}
	}
	if got := s.request("PUT", path+"content?path=/x", "x", token, "Content-Encoding: identity"); got.status != 200 {
		t.Errorf("identity: %d %s", got.status, got.body)
	}
}

// A few MiB of gzip can become GiB. Each protocol bounds a message while it decompresses it.
func TestAMessageThatIsTooLargeUncompressedIsRefusedInEveryProtocol(t *testing.T) {
	s := newSite(t, func(o *Options) { o.Limits.Message = 64 << 10 })
	token := bearer(s.token("a"))
	const large = 64 << 20
	for _, spaces := range []int{64<<10 + 1, large} {
		message := packed(t, strings.Repeat(" ", spaces)+"{}")
		for protocol, call := range encodedCalls {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			status, text := call.send(s, token, "gzip", message)
			runtime.ReadMemStats(&after)
			isRefused := status == 413 || strings.Contains(text, `"resource_exhausted"`) || strings.Contains(text, "grpc-status=8 ")
			if took := after.TotalAlloc - before.TotalAlloc; !isRefused || took > large/8 {
				t.Errorf("%s, %d bytes: %d %.300s, with %d bytes of memory", protocol, spaces, status, text, took)
			}
		}
	}
	for protocol, call := range encodedCalls {
		status, text := call.send(s, token, "gzip", packed(t, strings.Repeat(" ", 60<<10)+"{}"))
		if protocol != "stream" && status != 200 || strings.Contains(text, "exhausted") || strings.Contains(text, "grpc-status=8 ") {
			t.Errorf("%s, within the limit: %d %.300s", protocol, status, text)
		}
	}
}
