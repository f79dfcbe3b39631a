package cli

import (
	"time"

	"aibox/agents/spec"
	"aibox/internal/amount"

	"github.com/spf13/pflag"
)

// length is a flag's length of time: read and shown as in the settings, days included.
type length time.Duration

// lengthVar makes a flag of a length of time.
func lengthVar(flags *pflag.FlagSet, to *time.Duration, name string, value time.Duration, usage string) {
	*to = value
	flags.Var((*length)(to), name, usage)
}

// String shows it.
func (l *length) String() string { return amount.Span(time.Duration(*l)) }

// Set reads it.
func (l *length) Set(text string) error {
	d, err := spec.ParseDuration(text)
	if err == nil {
		*l = length(d)
	}
	return err
}

// Type returns its name in the help.
func (l *length) Type() string { return "DURATION" }
