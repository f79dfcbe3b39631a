package session

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"testing"

	"aibox/internal/fault"
)

func TestAFailureCarriesTheHintsOfEveryJoinedFaultThroughJSON(t *testing.T) {
	err := fmt.Errorf("starting: %w", errors.Join(
		fault.New(fault.Environment, "no daemon").Hint("start Docker"),
		fault.New(fault.Internal, "no room").Hint("make room")))
	data, jsonErr := json.Marshal(FailureOf(err))
	if jsonErr != nil {
		t.Fatal(jsonErr)
	}
	var read Failure
	if err := json.Unmarshal(data, &read); err != nil {
		t.Fatal(err)
	}
	if got := fault.Hints(read.Err()); !slices.Equal(got, []string{"start Docker", "make room"}) || fault.KindOf(read.Err()) != fault.Environment {
		t.Errorf("read is %q", got)
	}
}
