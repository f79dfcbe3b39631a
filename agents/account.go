package agents

import (
	"strings"

	"aibox/internal/fault"
)

// Account is how an agent uses the user's account at its vendor: by a key in a variable of
// its environment. The zero value means that aibox knows no such key.
type Account struct {
	Variable string // the variable from which the agent reads the key
	Page     string // where the user creates the key
	Limit    string // a sentence about when the agent does not read the key; empty means never
}

// HasLogin reports whether the agent has an account to log in to.
func (i Info) HasLogin() bool { return i.Account.Variable != "" }

// CheckLogin returns a Usage fault if the agent has no account to log in to.
func (i Info) CheckLogin() error {
	if i.HasLogin() {
		return nil
	}
	f := fault.New(fault.Usage, "%s has no login, because aibox does not run it in its vendor's cloud", i.Title)
	if len(i.Dialects) > 0 {
		f = f.Hint("give it a model server: aibox run %s --inference URL", i.Name)
	}
	return f.Hint("these agents have a login: %s", strings.Join(withCloud(), ", "))
}
