package agents

import (
	"strings"
	"testing"

	"aibox/agents/spec"
	"aibox/internal/fault"
)

func TestEveryAgentWithAVendorsCloudHasALoginAndNoOtherDoes(t *testing.T) {
	for _, agent := range Builtin().All() {
		info := agent.Info()
		err := info.CheckLogin()
		if cloud := info.OwnCloud || info.HasCloud; cloud != (err == nil) || cloud != strings.HasPrefix(info.Account.Page, "https://") {
			t.Errorf("%s: %v, %+v", info.Name, err, info.Account)
		}
		if err != nil && (fault.KindOf(err) != fault.Usage || !strings.Contains(strings.Join(fault.Hints(err), "\n"), "cursor")) {
			t.Errorf("%s: %v, %q", info.Name, err, fault.Hints(err))
		}
		fields, err := spec.Of(Options(agent))
		if err != nil {
			t.Fatal(err)
		}
		for _, field := range fields {
			if field.Type == spec.Secret && field.Env != info.Account.Variable {
				t.Errorf("%s reads its key from %s or from %s", info.Name, field.Env, info.Account.Variable)
			}
		}
	}
}
