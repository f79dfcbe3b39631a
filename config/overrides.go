package config

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"aibox/agents/spec"
)

// RunOverrides are the settings given for one run: the values, and which of them were
// given. All other settings come from the files and the environment. The zero value gives
// none. Methods that change it must not run concurrently with any other.
type RunOverrides struct {
	values Run
	given  map[string]bool
}

// RunFields are the fields of Run, in the order of their declaration.
func RunFields() []spec.Field {
	fields, _ := spec.Of((*Run)(nil)) // a test makes sure that the tags can be read
	return fields
}

// Set reads text as the setting's value and replaces an earlier one. A mistake is a Usage
// fault, and o is as before.
func (o *RunOverrides) Set(key, text string) error {
	field, err := findRunField(key)
	if err != nil {
		return err
	}
	return o.store(field, func(to *Run) error { return field.Set(to, text) })
}

// SetNumber is Set for a source that has no words for a number, so that a mistake does not
// offer the word auto.
func (o *RunOverrides) SetNumber(key, text string) error {
	field, err := findRunField(key)
	if err != nil {
		return err
	}
	field.Auto = ""
	return o.store(field, func(to *Run) error { return field.Set(to, text) })
}

// Append is Set for a flag that can be repeated: it adds the words of text to a list. The
// text of a variable is one word, since its value may hold commas.
func (o *RunOverrides) Append(key, text string) error {
	field, err := findRunField(key)
	if err != nil {
		return err
	}
	if !isList(field) {
		return o.Set(key, text)
	}
	more := []string{text}
	if key != "env" {
		var scratch Run
		if err := field.Set(&scratch, text); err != nil {
			return err
		}
		more, _ = field.Value(&scratch).([]string)
	}
	return o.SetWords(key, slices.Concat(o.Words(key), more))
}

// SetWords is Set for a list.
func (o *RunOverrides) SetWords(key string, words []string) error {
	field, err := findRunField(key)
	if err != nil {
		return err
	}
	return o.store(field, func(to *Run) error { return field.Decode(to, slices.Concat([]string{}, words)) })
}

// RunAddsTo reports whether a run can only add to the list: no flag can remove a word that
// the settings have. A run replaces other lists, even with an empty one.
func RunAddsTo(field spec.Field) bool {
	return isList(field) && (adds(field) || field.Key == "env")
}

func isList(field spec.Field) bool { return field.Type == spec.List || field.Type == spec.Choices }

// adds reports whether the words of all sources count.
func adds(field spec.Field) bool {
	return isList(field) && (field.Scope == spec.AtLeast || field.Scope == spec.Repository)
}

// CopyFrom sets the setting to its value in values.
func (o *RunOverrides) CopyFrom(values *Run, key string) error {
	field, err := findRunField(key)
	if err != nil {
		return err
	}
	return o.store(field, func(to *Run) error { return field.Copy(to, values) })
}

// Override sets the settings of other, which replace those of o. Lists are replaced, too.
func (o *RunOverrides) Override(other RunOverrides) error {
	for _, key := range other.Keys() {
		if err := o.CopyFrom(&other.values, key); err != nil {
			return err
		}
	}
	return nil
}

// Merge is Override, except that the words of lists that only tighten are added to those of o,
// since a denial is never taken back.
func (o *RunOverrides) Merge(other RunOverrides) error {
	for _, key := range other.Keys() {
		field, err := findRunField(key)
		switch {
		case err != nil:
		case isList(field) && field.Scope == spec.AtLeast:
			words := o.Words(key)
			err = o.SetWords(key, append(words, slices.DeleteFunc(other.Words(key), func(word string) bool { return slices.Contains(words, word) })...))
		default:
			err = o.CopyFrom(&other.values, key)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (o *RunOverrides) store(field spec.Field, store func(to *Run) error) error {
	if err := store(&o.values); err != nil {
		return err
	}
	if o.given == nil {
		o.given = map[string]bool{}
	}
	o.given[field.Key] = true
	if !isList(field) || len(o.Words(field.Key)) > 0 {
		return nil
	}
	if RunAddsTo(field) { // an empty list adds nothing
		o.Delete(field.Key)
		return nil
	}
	return field.Decode(&o.values, []string{}) // no words, whatever the settings have
}

// Has reports whether the setting is given.
func (o RunOverrides) Has(key string) bool { return o.given[key] }

// Text returns the setting's value as Set reads it; "" when it is not given.
func (o RunOverrides) Text(key string) string {
	field, err := findRunField(key)
	if err != nil || !o.given[key] {
		return ""
	}
	return field.FlagText(&o.values)
}

// Number returns the value of a whole number, or of a size in MiB. It reports false if the
// key is not given or has no number.
func (o RunOverrides) Number(key string) (int64, bool) {
	field, err := findRunField(key)
	if err != nil || !o.given[key] {
		return 0, false
	}
	n, ok := field.Value(&o.values).(int64)
	return n, ok
}

// Words returns the words of a list; nil when it is not given. The caller owns them.
func (o RunOverrides) Words(key string) []string {
	field, err := findRunField(key)
	if err != nil || !o.given[key] {
		return nil
	}
	words, _ := field.Value(&o.values).([]string)
	return words
}

// Delete removes the setting.
func (o *RunOverrides) Delete(key string) {
	field, err := findRunField(key)
	if err != nil || !o.given[key] {
		return
	}
	_ = field.Copy(&o.values, new(Run))
	delete(o.given, key)
}

// Only returns o with no other settings than the named ones.
func (o RunOverrides) Only(keys ...string) RunOverrides {
	return o.Without(slices.DeleteFunc(o.Keys(), func(key string) bool { return slices.Contains(keys, key) })...)
}

// Without returns o without the named settings.
func (o RunOverrides) Without(keys ...string) RunOverrides {
	o = o.Clone()
	for _, key := range keys {
		o.Delete(key)
	}
	return o
}

// Keys returns the keys of the given settings, in the order of Run.
func (o RunOverrides) Keys() []string {
	var keys []string
	for _, field := range RunFields() {
		if o.given[field.Key] {
			keys = append(keys, field.Key)
		}
	}
	return keys
}

// Clone returns a copy that shares nothing with o.
func (o RunOverrides) Clone() RunOverrides {
	if values, ok := spec.Clone(&o.values).(*Run); ok {
		o.values = *values
	}
	o.given = maps.Clone(o.given)
	return o
}

// Equal reports whether both give the same values to the same settings.
func (o RunOverrides) Equal(other RunOverrides) bool {
	keys := o.Keys()
	return slices.Equal(keys, other.Keys()) && !slices.ContainsFunc(keys, func(key string) bool {
		return o.Text(key) != other.Text(key) || !slices.Equal(o.Words(key), other.Words(key))
	})
}

// IsZero reports whether no setting is given.
func (o RunOverrides) IsZero() bool { return len(o.given) == 0 }

// ForResolve returns the overrides for Catalog.Resolve, each named by its flag or, if it
// has another origin, by what name returns; name may be nil. The variables of the
// environment are not among them: the settings hold only names, which are added to those
// given for the run.
func (o RunOverrides) ForResolve(name func(key string) string) []Override {
	var all []Override
	for _, field := range RunFields() {
		if !o.given[field.Key] || field.Key == "env" {
			continue
		}
		origin := "--" + field.Key
		if name != nil {
			origin = name(field.Key)
		}
		all = append(all, Override{Key: field.Key, Name: origin, Value: field.Value(&o.values)})
	}
	return all
}

// MarshalJSON writes an object of keys and texts. Of the variables of the environment it writes
// only the names.
func (o RunOverrides) MarshalJSON() ([]byte, error) {
	texts := map[string]string{}
	for _, key := range o.Keys() {
		texts[key] = o.Text(key)
	}
	if o.Has("env") {
		var names RunOverrides
		for _, word := range o.Words("env") {
			name, _, _ := strings.Cut(word, "=")
			if err := names.Append("env", name); err != nil {
				return nil, err
			}
		}
		texts["env"] = names.Text("env")
	}
	return json.Marshal(texts)
}

// UnmarshalJSON reads what MarshalJSON wrote. An unknown key and a wrong value are errors.
func (o *RunOverrides) UnmarshalJSON(data []byte) error {
	var texts map[string]string
	if err := json.Unmarshal(data, &texts); err != nil {
		return err
	}
	*o = RunOverrides{}
	for _, key := range slices.Sorted(maps.Keys(texts)) {
		if err := o.Set(key, texts[key]); err != nil {
			return err
		}
	}
	return nil
}

func findRunField(key string) (spec.Field, error) {
	if field, ok := spec.Lookup((*Run)(nil), key); ok {
		return field, nil
	}
	fields := RunFields()
	known := make([]string, len(fields))
	for i, field := range fields {
		known[i] = field.Key
	}
	return spec.Field{}, unknownKey(key, known)
}
