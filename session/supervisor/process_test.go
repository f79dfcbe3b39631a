package supervisor

import (
	"bytes"
	"testing"

	"aibox/session/process"
)

// A program can write single bytes to both streams in turn while nothing is recorded.
func TestManySmallOutputsAreQueuedAsFew(t *testing.T) {
	const written, most = 1 << 18, 5000
	p := &running{arrived: make(chan struct{}, 1)}
	var want, got [2]bytes.Buffer
	for i := range written {
		stream := i % 2
		piece := []byte{byte(i >> 8)}
		want[stream].Write(piece)
		p.put(processOutput{stderr: stream == 1, bytes: piece})
	}
	p.put(processOutput{exit: &process.Exit{}})
	if len(p.outputs) > most {
		t.Errorf("%d outputs are queued, more than %d", len(p.outputs), most)
	}
	for i, o := range p.outputs {
		if (o.exit != nil) != (i == len(p.outputs)-1) || len(o.bytes) > process.MaxData {
			t.Fatalf("output %d has %d bytes and the exit %v", i, len(o.bytes), o.exit)
		}
		stream := 0
		if o.stderr {
			stream = 1
		}
		got[stream].Write(o.bytes)
	}
	for stream := range want {
		if !bytes.Equal(got[stream].Bytes(), want[stream].Bytes()) {
			t.Errorf("stream %d has other bytes", stream)
		}
	}
}
