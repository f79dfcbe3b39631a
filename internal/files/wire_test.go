package files

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"testing"
)

func TestPathKeepsItsBytesInJSON(t *testing.T) {
	for _, path := range []Path{"", "/a b", "/\x00\n\"", "/é\u2028", "/\xff\xfe/x", Path("\xed\xa0\x80")} {
		data, err := json.Marshal(path)
		if err != nil {
			t.Fatal(err)
		}
		var got Path
		if err := json.Unmarshal(data, &got); err != nil || got != path {
			t.Errorf("%q becomes %s and then %q: %v", path, data, got, err)
		}
	}
}

func TestOversizedFramesAreRefusedBeforeTheyAreRead(t *testing.T) {
	for _, frame := range []string{"a\xff\xff\xff\xff", "d\x00\x05\x00\x00", "q\x00\x02\x00\x00", "e\x00\x00\x00\x01x", "z\x00\x00\x00\x00"} {
		if _, _, err := newReader(bytes.NewReader([]byte(frame))).next(); !errors.Is(err, ErrProtocol) {
			t.Errorf("%q: %v", frame, err)
		}
	}
	for _, frame := range []string{"a\x00", "a\x00\x1f\x00\x00{}"} {
		if _, _, err := newReader(bytes.NewReader([]byte(frame))).next(); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("%q: %v", frame, err)
		}
	}
}

// FuzzReader reads hostile frames as answers, events and data.
func FuzzReader(f *testing.F) {
	var seed bytes.Buffer
	_ = writeMessage(&seed, frameAnswer, Answer{Entry: &Entry{Path: "/\xff", Kind: Regular}})
	_, _ = (&dataWriter{w: &seed}).Write([]byte("data"))
	_ = writeMessage(&seed, frameEvent, Event{Change: Renamed, Path: "/a", To: "/b"})
	_ = writeFrame(&seed, frameEnd, nil)
	f.Add(seed.Bytes())
	f.Add([]byte("d\x00\x00\x00\x00e\x00\x00\x00\x00"))
	f.Fuzz(func(t *testing.T, data []byte) {
		r := newReader(bytes.NewReader(data))
		total := 0
		for {
			kind, payload, err := r.next()
			if err != nil {
				break
			}
			total += frameHeader + len(payload)
			switch kind {
			case frameAnswer:
				_, _ = decode[Answer](payload)
			case frameEvent:
				_, _ = decode[Event](payload)
			case frameRequest:
				q, err := decode[Request](payload)
				if err == nil && q.check() == nil && (q.Path == "" || len(q.Path) > MaxPath) {
					t.Errorf("%+v passes", q)
				}
			}
		}
		if total > len(data) {
			t.Errorf("%d bytes from %d", total, len(data))
		}
		read, err := io.ReadAll(&dataReader{in: newReader(bytes.NewReader(data))})
		if len(read) > len(data) || err == nil && len(data) < frameHeader {
			t.Errorf("%d bytes of data from %d: %v", len(read), len(data), err)
		}
	})
}
