package main

import (
	"encoding/json"
	"strings"
	"testing"

	"aibox/internal/lifeline"
)

// An error repeats the name of a missing program, quoted. A message over the lifeline's limit would
// end the sandbox.
func TestAnErrorThatRepeatsAVeryLongNameFitsInAMessage(t *testing.T) {
	_, err := startProcess(nil, nil, lifeline.Process{Argv: []string{strings.Repeat("\u200b", lifeline.MaxMessage/6)}}, []string{"PATH=/bin"}, false)
	if err == nil || len(err.Error()) < lifeline.MaxMessage {
		t.Fatal("the error is not longer than a message")
	}
	message, marshalErr := json.Marshal(lifeline.ProcessExit{Code: 127, Error: errorText(err)})
	if marshalErr != nil || len(message) > lifeline.MaxMessage {
		t.Errorf("the message has %d bytes: %v", len(message), marshalErr)
	}
	if !strings.HasPrefix(string(message), `{"id":0,"code":127,"error":"there is no`) {
		t.Errorf("the message is %.100q", message)
	}
}
