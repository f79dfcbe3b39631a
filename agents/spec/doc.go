// Package spec turns the fields and tags of a struct into a list of options, which flags,
// forms, settings, completion, schema and documentation all use. Agents describe their
// options with it, and aibox its settings. It contains all reflection of aibox. It never
// runs anything and knows no agent.
//
// Every exported field is an option. Its tag has plain strings under a closed set of
// keys; an unknown, empty, repeated or contradictory key is an error that names the
// struct, the field and the key:
//
//	label    its label in forms (required)
//	help     one sentence without a full stop (required)
//	flag     the words before the value on the agent's own command line, "--model"
//	         or "-c model_reasoning_effort="; if the last word ends in "=", the value
//	         is appended to it
//	env      the agent's environment variable for it
//	default  its value if it is not set, as text for Field.Set
//	choices  the allowed values, separated by spaces
//	min, max inclusive limits of a number or duration
//	auto     on a number: what number the word "auto" means, as part of a sentence; the
//	         caller replaces the word (Field.Replace)
//	zero     what 0 means, on a number that can be 0: "no limit", "forever", or "none" on
//	         a number of things; added to the help, and accepted in place of 0
//	group    its heading in forms
//	secret   "true" on a secret.Value, and only there
//	type     text, path or model: the kind of a string
//	mode     headless or interactive, if the option applies to only one of them
//	scope    whether a repository's file can set it: user (no, the default),
//	         repository (yes), at-most or at-least (only to tighten)
//	placeholder  the name of the value in the flag's help, "PATTERN"
//	inherit  rerun or always: which new sessions inherit the value
//	when     a condition on another option: "key" (it is set or on), "key=value" or
//	         "key!=value"; setting an option whose condition does not hold is an
//	         error (Applies)
//
// Package json reads json tags. The fields of an embedded struct count as fields of the
// outer one.
//
// Types: string (with choices a choice), bool, int, amount.MiB, amount.USD, amount.Decimal,
// time.Duration, []string (with choices a choice of several) and secret.Value. A secret can
// have an env but no flag, because argument lists are public.
//
// The struct can have methods for what tags cannot express:
//
//	Visible(key string) bool      reports whether the option has an effect now
//	Validate() error              checks the options together
//	Choices(key string) []string  returns the allowed values; nil means the tag's
package spec
