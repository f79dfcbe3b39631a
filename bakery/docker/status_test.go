package docker

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protowire"

	"aibox/bakery"
)

func text(b []byte, n protowire.Number, value string) []byte {
	return protowire.AppendString(protowire.AppendTag(b, n, protowire.BytesType), value)
}

func number(b []byte, n protowire.Number, value uint64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(b, n, protowire.VarintType), value)
}

func moment(seconds, nanos uint64) string {
	return string(number(number(nil, 1, seconds), 2, nanos))
}

// status returns an answer with every field, and unknown ones.
func status() []byte {
	vertex := text(nil, 1, "sha256:aa")
	vertex = text(vertex, 2, "sha256:input")
	vertex = text(vertex, 3, "[1/2] RUN x")
	vertex = number(vertex, 4, 1)
	vertex = text(vertex, 5, moment(100, 5))
	vertex = text(vertex, 6, moment(101, 0))
	vertex = text(vertex, 7, "exit code: 1")
	vertex = protowire.AppendFixed64(protowire.AppendTag(vertex, 99, protowire.Fixed64Type), 1)
	log := text(number(text(text(nil, 1, "sha256:aa"), 2, moment(100, 0)), 3, 2), 4, "line\n")
	all := text(nil, 1, string(vertex))
	all = text(all, 2, "a status of a vertex")
	all = text(all, 3, string(log))
	return text(all, 4, "a warning")
}

func TestBuildKitStatusIsDecoded(t *testing.T) {
	got, err := decodeStatus(status())
	if err != nil {
		t.Fatal(err)
	}
	want := bakery.Update{
		Steps: []bakery.Step{{
			ID: "sha256:aa", Name: "[1/2] RUN x", Cached: true, Error: "exit code: 1",
			Started: time.Unix(100, 5), Ended: time.Unix(101, 0),
		}},
		Logs: []bakery.Log{{Step: "sha256:aa", Data: []byte("line\n")}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestBrokenBuildStreamKeepsTheDaemonsReason(t *testing.T) {
	var lines int
	err := messages(strings.NewReader(`{"status":"a"}{"error":"why"}{"status":"b"}{"st`), func(message) { lines++ })
	if err == nil || !strings.Contains(err.Error(), "why") || lines != 2 {
		t.Errorf("error %v after %d lines", err, lines)
	}
	if _, ok := trace(message{ID: "moby.buildkit.trace", Aux: []byte(`"!!"`)}); ok {
		t.Error("progress from nonsense")
	}
}

func FuzzDecodeStatus(f *testing.F) {
	f.Add(status())
	f.Add([]byte{0x0a, 0xff, 0xff, 0xff, 0xff, 0x0f})
	f.Fuzz(func(t *testing.T, data []byte) {
		u, err := decodeStatus(data)
		if err == nil && len(u.Steps)+len(u.Logs) > len(data) {
			t.Errorf("%d entries of %d bytes", len(u.Steps)+len(u.Logs), len(data))
		}
	})
}
