package spec

import (
	"fmt"
	"io"
	"strings"
)

// Markdown writes fields as a table: key, values, default and help, in their order.
// It writes nothing if there are no fields.
func Markdown(w io.Writer, fields []Field) error {
	if len(fields) == 0 {
		return nil
	}
	var out strings.Builder
	out.WriteString("| option | values | default | description |\n| --- | --- | --- | --- |\n")
	for _, field := range fields {
		fmt.Fprintf(&out, "| `%s` | %s | %s | %s |\n", field.Key, field.values(), code(field.Default), cell(field.meaning()))
	}
	_, err := io.WriteString(w, out.String())
	return err
}

// values describes the option's values for a table.
func (f Field) values() string {
	if len(f.Choices) > 0 {
		words := make([]string, len(f.Choices))
		for i, choice := range f.Choices {
			words[i] = code(choice)
		}
		if f.Type == Choices {
			return "any of " + strings.Join(words, ", ")
		}
		return strings.Join(words, ", ")
	}
	if f.Min != nil || f.Max != nil {
		return cell(f.Bounds())
	}
	return f.Type.String()
}

// meaning returns the help with the mode and the condition.
func (f Field) meaning() string {
	text := f.Help
	if f.Mode != Both {
		text += " (" + f.Mode.String() + " only)"
	}
	if f.When != "" {
		text += "; only with `" + f.When + "`"
	}
	return text
}

func code(text string) string {
	if text == "" {
		return ""
	}
	return "`" + cell(text) + "`"
}

// cell escapes text for one cell of a table.
func cell(text string) string {
	return strings.NewReplacer("|", `\|`, "\r", "", "\n", " ").Replace(text)
}
