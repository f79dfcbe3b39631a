// Package spec reads options from the fields and tags of a struct, once, so that
// flags, forms, settings, completion, schema and documentation all read the same
// list. Agents describe their options with it, and aibox its settings. It is the
// only reflection in aibox. It never runs anything and knows no agent.
//
// A field is an option when it is exported. Its tag holds plain strings under a
// closed set of keys; an unknown, empty, repeated or contradictory key is an error
// that names the struct, the field and the key:
//
//	label    what a form shows beside it (required)
//	help     one sentence without a full stop (required)
//	flag     the words that precede the value in the agent's own command line,
//	         "--model" or "-c model_reasoning_effort="; after a last word that ends
//	         in "=" the value is joined to it
//	env      the variable of the agent's environment that carries it
//	default  its value if it is not set, as Field.Set takes it
//	choices  the values it may have, separated by spaces
//	min, max bounds of a number or duration, both included
//	group    the heading under which a form shows it
//	secret   "true" on a secret.Value, and only there
//	type     text, path or model: what the words of a string are
//	mode     headless or interactive, when only one of the two knows the option
//	scope    whether a file in a repository may set it: user (no, the default),
//	         repository (yes), at-most or at-least (only to tighten)
//	placeholder  what stands for the value in the help of that flag, "PATTERN"
//	inherit  rerun or always: which new session takes the value of an earlier one
//	when     the option that makes this one meaningful: "key" (it is set or on),
//	         "key=value" or "key!=value"; to set it otherwise is a mistake (Applies)
//
// A json tag belongs to package json. The fields of an embedded struct are options as
// if they stood in its place.
//
// Types: string (with choices a choice), bool, int, time.Duration, []string (with
// choices a choice of several) and secret.Value. A secret may have an env and never
// a flag, because argument lists are public.
//
// What tags cannot say is a method that the struct may have:
//
//	Visible(key string) bool      whether the option means anything just now
//	Validate() error              what is wrong with the options together
//	Choices(key string) []string  values to choose from; nil leaves the tag's
package spec
