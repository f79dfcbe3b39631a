package cli

import (
	"aibox/internal/amount"

	"github.com/spf13/pflag"
)

// sizeFlag is a flag's size in MiB: read as in the settings, with or without a unit.
type sizeFlag int64

// sizeVar makes a flag of a size, which is 0 unless it is given.
func sizeVar(flags *pflag.FlagSet, to *int64, name, usage string) {
	flags.Var((*sizeFlag)(to), name, usage)
}

// String shows it.
func (s *sizeFlag) String() string { return amount.MiB(*s).String() }

// Set reads it.
func (s *sizeFlag) Set(text string) error {
	size, err := amount.ParseMiB(text)
	if err == nil {
		*s = sizeFlag(size)
	}
	return err
}

// Type returns its name in the help.
func (s *sizeFlag) Type() string { return "SIZE" }
