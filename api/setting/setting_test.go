package setting

import (
	"slices"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	"aibox/agents"
	"aibox/agents/spec"
	aiboxv1 "aibox/api/aibox/v1"
	"aibox/config"
)

func TestFieldsBecomeSettingsAndFieldsAgain(t *testing.T) {
	limits := &aiboxv1.Limits{MemoryMib: proto.Int64(512), Cpus: proto.Float64(1.5), Processes: proto.Int32(64)}
	network := &aiboxv1.NetworkPolicy{
		Mode: aiboxv1.NetworkMode_NETWORK_MODE_ALLOWLIST, Allow: &aiboxv1.HostList{Hosts: []string{"example.com"}},
		Deny: &aiboxv1.HostList{Hosts: []string{"*.example.com"}}, UploadMib: proto.Int64(0), DownloadMib: proto.Int64(7),
	}
	var r Reader
	r.Limits(limits)
	r.Network(network)
	r.Duration("timeout", "timeout", durationpb.New(90*time.Second))
	given, err := r.Result()
	if err != nil {
		t.Fatal(err)
	}
	if got := ToLimits(given); !proto.Equal(got, limits) {
		t.Errorf("limits: %v", got)
	}
	if got := ToNetwork(given); !proto.Equal(got, network) {
		t.Errorf("network: %v", got)
	}
	if got := ToDuration(given, "timeout"); got.AsDuration() != 90*time.Second {
		t.Errorf("timeout: %v", got)
	}
}

func TestAbsentFieldsGiveNothingAndAnEmptyListIsAValue(t *testing.T) {
	var r Reader
	r.Limits(&aiboxv1.Limits{})
	r.Network(&aiboxv1.NetworkPolicy{Allow: &aiboxv1.HostList{}})
	r.Duration("timeout", "timeout", nil)
	r.Text("model", "")
	given, err := r.Result()
	if err != nil || len(given.Keys()) != 1 || !given.Has("allow") || len(given.Words("allow")) != 0 {
		t.Fatalf("%q, %v", given.Keys(), err)
	}
	if ToLimits(given) != nil || ToDuration(given, "timeout") != nil {
		t.Error("settings that were not given are returned")
	}
	if got := ToNetwork(given); got.GetAllow() == nil || got.Deny != nil || got.UploadMib != nil {
		t.Errorf("network: %v", got)
	}
}

// A setting that is added is for callers with the right network until it is known to be harmless.
func TestSettingsThatChangeWhatAnAgentReachesAreChosen(t *testing.T) {
	for key, text := range map[string]string{
		"network": "public", "allow": "a.example", "deny": "a.example", "ask": "true", "ask-timeout": "2s", "learn": "true", "model": "m",
		"inference": "auto", "inference-tools": "web-search", "inspect": "a.example", "secret": "X@a.example", "ssh-agent": "git@a.example",
		"hide": "!.env", "mount": "/a:/b", "env": "A", "accept": "branch",
	} {
		var given config.RunOverrides
		if err := given.Set(key, text); err != nil || !ChoosesNetwork(nil, given) {
			t.Errorf("%s is free: %v", key, err)
		}
	}
	if !ChoosesNetwork(&aiboxv1.NetworkPolicy{}, config.RunOverrides{}) || ChoosesNetwork(nil, config.RunOverrides{}) {
		t.Error("a policy counts, and no setting does not")
	}
	for _, key := range sameNetwork {
		if !slices.ContainsFunc(config.RunFields(), func(f spec.Field) bool { return f.Key == key }) {
			t.Errorf("there is no setting %s", key)
		}
	}
}

func TestOptionsOfAgentsThatNameModelsChooseTheNetwork(t *testing.T) {
	for _, c := range []struct {
		agent, key, text string
		want             bool
	}{
		{"claude", "small-model", "m", true},
		{"claude", "small-model", "", true},
		{"", "editor-model", "m", true},
		{"qwen", "fallback-model", "m", true},
		{"codex", "config", "review_model=\"m\"", true},
		{"codex", "config", "hide_agent_reasoning=true", false},
		{"codex", "small-model", "m", false}, // it has no such option
		{"claude", "max-turns", "no number", false},
		{"none", "small-model", "m", false},
		{"amp", "none", "", true},
		{"cursor", "none", "", true},
		{"", "none", "", false},
	} {
		if got := AgentChoosesNetwork(agents.Builtin(), c.agent, map[string]string{c.key: c.text}); got != c.want {
			t.Errorf("%+v: %t", c, got)
		}
	}
	if !AgentChoosesNetwork(agents.Builtin(), "amp", nil) || AgentChoosesNetwork(agents.Builtin(), "codex", nil) {
		t.Error("only an agent with its own cloud counts")
	}
}

func TestTheFirstMistakeIsReported(t *testing.T) {
	for name, read := range map[string]func(*Reader){
		"a negative time":   func(r *Reader) { r.Duration("timeout", "timeout", durationpb.New(-1)) },
		"an unknown mode":   func(r *Reader) { r.Network(&aiboxv1.NetworkPolicy{Mode: 77}) },
		"a negative limit":  func(r *Reader) { r.Limits(&aiboxv1.Limits{MemoryMib: proto.Int64(-1)}) },
		"an unknown name":   func(r *Reader) { r.Further(map[string]string{"color": "red"}) },
		"a value and twice": func(r *Reader) { r.Text("memory", "512"); r.Further(map[string]string{"memory": "512"}) },
	} {
		var r Reader
		read(&r)
		_, first := r.Result()
		r.Text("pids", "also wrong")
		if _, err := r.Result(); err == nil || err != first { //nolint:errorlint // the same value
			t.Errorf("%s: %v, then %v", name, first, err)
		}
	}
}

func TestALimitOfARequestIsNotOfferedTheWordOfASetting(t *testing.T) {
	for want, limits := range map[string]*aiboxv1.Limits{
		`option "cpus" must be a number from 0 to 65536, not -1`:      {Cpus: proto.Float64(-1)},
		`option "memory" must be a size from 0 to 1024TiB, not -1MiB`: {MemoryMib: proto.Int64(-1)},
		`option "cpus" must be a number from 0 to 65536, not 100000`:  {Cpus: proto.Float64(100000)},
	} {
		var r Reader
		r.Limits(limits)
		if _, err := r.Result(); err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}
