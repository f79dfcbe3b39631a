package agents

import "testing"

// strict is an agent with documented exit codes.
type strict struct{ Shell }

func (*strict) Meaning(code int) string {
	if code == 55 {
		return "the folder is not trusted"
	}
	return ""
}

func TestExitCodeIsExplainedByTheAgent(t *testing.T) {
	for _, test := range []struct {
		agent Agent
		code  int
		want  string
	}{
		{&strict{}, 55, "the folder is not trusted"},
		{&strict{}, 1, ""},
		{&strict{}, 0, ""},
		{&Shell{}, 55, ""},
	} {
		if got := Meaning(test.agent, test.code); got != test.want {
			t.Errorf("%T %d: %q", test.agent, test.code, got)
		}
	}
}
