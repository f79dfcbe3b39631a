package session

import (
	"encoding/json"
	"strings"
	"testing"
)

// A script must not read an unknown number as 0.
func TestUnknownNumbersAreNullInJSON(t *testing.T) {
	result := Result{Changes: Changes{Unknown: "the disk is full", Disk: true}, Tokens: Tokens{Lost: true}, ExitCode: 3}
	data, err := json.Marshal(&result)
	if err != nil {
		t.Fatal(err)
	}
	var fields struct {
		Changed *bool            `json:"changed"`
		Changes map[string]any   `json:"changes"`
		Tokens  *json.RawMessage `json:"tokens"`
	}
	if err := json.Unmarshal(data, &fields); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"files", "added", "deleted"} {
		if value, there := fields.Changes[name]; !there || value != nil {
			t.Errorf("%s is %v in %s", name, value, data)
		}
	}
	if fields.Changed != nil || fields.Tokens != nil || !strings.Contains(string(data), `"changed":null`) || !strings.Contains(string(data), `"tokens":null`) {
		t.Errorf("it is %s", data)
	}
	var again Result
	if err := json.Unmarshal(data, &again); err != nil || !again.Tokens.Lost || again.Changes.Unknown == "" || !again.Changes.Disk || again.ExitCode != 3 {
		t.Errorf("read again it is %+v, %v", again, err)
	}
}

func TestKnownNumbersAreNumbersInJSON(t *testing.T) {
	data, err := json.Marshal(Result{})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"changed":false`, `"files":0`, `"tokens":{"requests":0,"input":0,"output":0}`} {
		if !strings.Contains(string(data), want) {
			t.Errorf("%s is not in %s", want, data)
		}
	}
}
