// Package spec reads the options of an agent from the fields and tags of its
// struct, once, so that flags, forms, settings, completion and documentation all
// read the same list. It is the only reflection in aibox. It never runs anything
// and knows no agent.
//
// A field is an option when it is exported. Its tag holds plain strings under a
// closed set of keys; an unknown or repeated key is an error that names the
// struct, the field and the key:
//
//	label    what a form shows beside it (required)
//	help     one sentence without a full stop (required)
//	flag     the words that precede the value in the agent's own command line,
//	         "--model" or "-c model_reasoning_effort="; after a last word that ends
//	         in "=" the value is joined to it
//	env      the variable of the agent's environment that carries it
//	default  its value when nobody sets it
//	choices  the values it may have, separated by spaces
//	min, max bounds of a number, both included
//	group    the heading under which a form shows it
//	secret   "true" on a secret.Value, and only there
//	mode     headless or interactive, when only one of the two knows the option
//
// Types: string, bool, int, []string and secret.Value; a string with choices is a
// choice. A secret may have an env and never a flag, because argument lists are
// public.
package spec
