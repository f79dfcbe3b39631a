package session

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"aibox/netguard"
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

// The last stored numbers can be old: on a full disk a supervisor cannot store newer ones,
// and then it may be killed.
func TestTokensAreUnknownAfterASupervisorCrash(t *testing.T) {
	for name, full := range map[string]bool{"written to the end": false, "not written any more": true} {
		t.Run(name, func(t *testing.T) {
			d := newFixture(t)
			d.died("00001-a", Running, nil)
			spec := d.loaded("00001-a").Spec
			spec.Network = netguard.Local.String()
			d.must(d.store.write("00001-a", specFile, spec))
			d.must(d.store.WriteLive("00001-a", Live{Tokens: Tokens{Input: 7}, Requests: []Request{{}}}))
			if full { // a folder in place of the next file fails like a full disk
				d.must(os.Mkdir(filepath.Join(d.store.Dir("00001-a"), liveFile+".next"), 0o700))
				d.write(filepath.Join(d.store.Dir("00001-a"), liveFile+".next", "x"), "")
				if d.store.WriteLive("00001-a", Live{Tokens: Tokens{Input: 9000}}) == nil {
					t.Fatal("they are written")
				}
			}
			if live := d.store.live("00001-a"); len(live.Requests) != 1 {
				t.Errorf("its questions are lost: %+v", live)
			}
			_, err := d.Repair(t.Context())
			d.must(err)
			session := d.loaded("00001-a")
			brief := session.Summary()
			if tokens := session.State.Result.Tokens; tokens.Lost != full || brief.Uncounted != full || (tokens.String() == "tokens unknown") != full {
				t.Errorf("the tokens are %+v", tokens)
			}
		})
	}
}

// A list computes changes that are unknown because of a full disk, as soon as there is
// space, but only a limited number of times.
func TestAListComputesChangesThatAFullDiskLeftUnknown(t *testing.T) {
	d := newFixture(t)
	unknown := func(id ID, changes Changes) {
		d.died(id, Computing, &Result{})
		session := d.loaded(id)
		session.State.Phase, session.State.Ended, session.State.Result.Changes = Ended, now(), changes
		d.must(d.store.write(id, stateFile, session.State))
	}
	unknown("00001-a", Changes{Unknown: "the disk is full", Disk: true})
	unknown("00002-a", Changes{Unknown: "the disk is full", Disk: true, Tries: maxTries})
	unknown("00003-a", Changes{Unknown: diedComputing}) // this would kill the list, too
	if !d.ComputeUnknown(t.Context()) {
		t.Error("nothing was computed")
	}
	for id, known := range map[ID]bool{"00001-a": true, "00002-a": false, "00003-a": false} {
		result := d.loaded(id).State.Result
		if result.unknown() == known || result.Changed != known || known != (result.Changes.Files == 1) {
			t.Errorf("%s stands as %+v", id, result)
		}
	}
	if d.ComputeUnknown(t.Context()) {
		t.Error("it is computed again")
	}
	for _, id := range []ID{"00002-a", "00003-a"} {
		if got := d.files(id); got != "made.txt" {
			t.Errorf("asked for, %s changed %q", id, got)
		}
	}
}

func TestACanceledRecomputeKeepsTheRecord(t *testing.T) {
	d := newFixture(t)
	d.died("00001-a", Computing, &Result{})
	session := d.loaded("00001-a")
	session.State.Phase, session.State.Result.Changes = Ended, Changes{Unknown: "the disk is full", Disk: true, Tries: 1}
	d.must(d.store.write("00001-a", stateFile, session.State))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := d.Changes(ctx, "00001-a"); err == nil {
		t.Fatal("it was not broken off")
	}
	if got := d.loaded("00001-a").State.Result.Changes; got.Unknown != "the disk is full" || !got.Disk || got.Tries != 1 {
		t.Errorf("on record is %+v", got)
	}
}
