package session

import (
	"errors"
	"os"
	"strings"
	"testing"

	"aibox/internal/fault"
)

func TestABatchIsFoundByAPrefixOfItsID(t *testing.T) {
	s := testStore(t)
	for id, batch := range map[ID]BatchID{"00001-a": "b-0dq4f", "00002-a": "b-0dq4f", "00003-a": "b-0dq5f", "00004-a": ""} {
		err := errors.Join(os.MkdirAll(s.Dir(id), 0o700), s.WriteSpec(id, Spec{ID: id, Batch: batch}), s.Write(id, StateFile, State{Phase: Ended}))
		if err != nil {
			t.Fatal(err)
		}
	}
	reader := NewReader(s)
	id, members, err := reader.Batch("b-0dq4")
	if err != nil {
		t.Fatal(err)
	}
	if id != "b-0dq4f" || len(members) != 2 || members[0].ID != "00001-a" {
		t.Errorf("found %s with %d sessions", id, len(members))
	}
	for text, want := range map[string]string{"b-0dq": "could be the batches", "b-9": "no batch", "0dq4": "not the id of a batch", "b-\x1b": "not the id of a batch"} {
		if _, _, err := reader.Batch(text); fault.KindOf(err) != fault.Usage || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", text, err)
		}
	}
}
