package schema

import (
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"aibox/netguard"
)

// rule says what passes of one value. apply reads exactly one value and writes what
// passes of it. It reports whether anything does: a value that is left out is noted,
// read to its end, and may have written something that the caller takes back.
type rule interface {
	apply(*walk) (bool, error)
}

// scalar passes a string, number or boolean, whatever it is.
type scalar struct{}

func (scalar) apply(w *walk) (bool, error) {
	if kind := w.dec.PeekKind(); kind == '{' || kind == '[' {
		return w.leave()
	}
	return anything{}.apply(w)
}

// anything passes a value unchanged if it is neither too deep nor too wide:
// what the model is given as data, and no server acts on.
type anything struct{}

func (anything) apply(w *walk) (bool, error) {
	value, err := w.skip(nil)
	if err != nil {
		return false, err
	}
	w.out.refer(value)
	return true, nil
}

// jsonSchema passes a JSON schema. A server that resolves its references must find
// all of them in the schema itself.
type jsonSchema struct{}

func (jsonSchema) apply(w *walk) (bool, error) {
	value, err := w.skip(func(name string, value jsontext.Token) error {
		switch name {
		case "$ref", "$dynamicRef", "$recursiveRef":
			if ref := value.String(); !strings.HasPrefix(ref, "#") {
				return forbidden("aibox lets no JSON schema through that refers to another document (%s in %s): put the definition into the schema", name, w.at())
			}
		}
		return nil
	})
	if err != nil {
		return false, err
	}
	w.out.refer(value)
	return true, nil
}

// fields passes an object's members by their names.
type fields map[string]rule

func (f fields) apply(w *walk) (bool, error) { return object{fields: f}.apply(w) }

// with returns f and more.
func (f fields) with(more fields) fields {
	all := maps.Clone(f)
	maps.Copy(all, more)
	return all
}

// object passes members by their names.
type object struct {
	fields fields
	// need are members without which the object would mean something else.
	need []string
	// force are members that it gets whatever the agent says, as JSON.
	force map[string]string
}

func (o object) apply(w *walk) (bool, error) {
	if w.dec.PeekKind() != '{' {
		return w.leave()
	}
	if err := w.open(); err != nil {
		return false, err
	}
	w.out.write([]byte{'{'})
	var passed []string
	had := false
	for ; w.dec.PeekKind() == '"'; had = true {
		name, err := w.member(o, passed)
		if err != nil {
			return false, err
		}
		if name != "" {
			passed = append(passed, name)
		}
	}
	if _, err := w.dec.ReadToken(); err != nil {
		return false, malformed(err)
	}
	for _, name := range o.need {
		if !slices.Contains(passed, name) {
			return false, &Refusal{Malformed, "the request has no " + strings.TrimPrefix(w.at()+"."+name, ".")}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(o.force)) {
		if len(passed) > 0 {
			w.out.write([]byte{','})
		}
		w.out.write([]byte(`"` + name + `":` + o.force[name]))
		passed = append(passed, name)
	}
	w.out.write([]byte{'}'})
	return len(passed) > 0 || !had, nil
}

// member passes one member of an object and returns its name, or "" when it is left
// out.
func (w *walk) member(o object, passed []string) (string, error) {
	name, err := w.name()
	if err != nil {
		return "", err
	}
	if w.camel {
		name = camelCase(name)
	}
	w.place = append(w.place, name)
	defer func() { w.place = w.place[:len(w.place)-1] }()
	if _, ok := o.force[name]; ok {
		_, err := w.skip(nil)
		return "", err
	}
	r, ok := o.fields[name]
	if !ok {
		_, err := w.leave()
		return "", err
	}
	if slices.Contains(passed, name) { // in two spellings
		return "", &Refusal{Malformed, "the request has " + w.at() + " twice"}
	}
	before := w.out.mark()
	if len(passed) > 0 {
		w.out.write([]byte{','})
	}
	quoted, err := jsontext.AppendQuote(nil, name)
	if err != nil {
		return "", malformed(err)
	}
	w.out.write(append(quoted, ':'))
	kept, err := w.nullOr(r)
	if err != nil {
		return "", err
	}
	if !kept {
		w.out.back(before)
		return "", nil
	}
	return name, nil
}

// nullOr passes null where it says as much as nothing.
func (w *walk) nullOr(r rule) (bool, error) {
	if w.dec.PeekKind() != 'n' {
		return r.apply(w)
	}
	if _, err := w.dec.ReadToken(); err != nil {
		return false, malformed(err)
	}
	switch r.(type) {
	case modelName, refused, serverTool, offeredTool:
		return false, nil
	}
	w.out.write([]byte("null"))
	return true, nil
}

// camelCase returns a name as Gemini's API spells it: both spellings mean the
// same field.
func camelCase(name string) string {
	if !strings.Contains(name, "_") {
		return name
	}
	var out strings.Builder
	up := false
	for _, r := range name {
		switch {
		case r == '_':
			up = true
			continue
		case up && r >= 'a' && r <= 'z':
			r += 'A' - 'a'
		}
		up = false
		out.WriteRune(r)
	}
	return out.String()
}

// list passes an array's elements. An array of which no element passes is left out,
// and refused when server-side tools were all that it offered.
type list struct{ of rule }

func (l list) apply(w *walk) (bool, error) {
	if w.dec.PeekKind() != '[' {
		return w.leave()
	}
	if err := w.open(); err != nil {
		return false, err
	}
	w.place = append(w.place, "[]")
	defer func() { w.place = w.place[:len(w.place)-1] }()
	outer := w.offers
	w.offers = nil
	w.out.write([]byte{'['})
	elements, kept := 0, 0
	for kind := w.dec.PeekKind(); kind != ']' && kind != 0; kind = w.dec.PeekKind() {
		before := w.out.mark()
		if kept > 0 {
			w.out.write([]byte{','})
		}
		ok, err := l.of.apply(w)
		if err != nil {
			return false, err
		}
		elements++
		if ok {
			kept++
		} else {
			w.out.back(before)
		}
	}
	if _, err := w.dec.ReadToken(); err != nil {
		return false, malformed(err)
	}
	if kept == 0 && len(w.offers) > 0 {
		return false, w.closed(w.offers[0])
	}
	w.offers = outer
	w.out.write([]byte{']'})
	return kept > 0 || elements == 0, nil
}

// either passes a value by what it is in JSON.
type either struct{ text, list, object rule }

func (e either) apply(w *walk) (bool, error) {
	var r rule
	switch w.dec.PeekKind() {
	case '[':
		r = e.list
	case '{':
		r = e.object
	default:
		r = e.text
	}
	if r == nil {
		return w.leave()
	}
	return r.apply(w)
}

// tagged passes an object according to the kind that its member key names. "NAME_*"
// stands for a name with a date after it.
type tagged struct {
	key    string
	absent string // what an object without the member is; empty for nothing that passes
	of     map[string]rule
}

var dateBehind = regexp.MustCompile(`_[0-9]{8}$`)

func (t tagged) apply(w *walk) (bool, error) {
	if w.dec.PeekKind() != '{' {
		return w.leave()
	}
	tag, ok := w.tag(t.key)
	if !ok {
		tag = t.absent
	}
	r, known := t.of[tag]
	if !known {
		r, known = t.of[dateBehind.ReplaceAllString(tag, "_*")]
	}
	if !known || tag == "" {
		w.note("." + t.key + "=" + tag)
		_, err := w.skip(nil)
		return false, err
	}
	return r.apply(w)
}

// refused is a value that no session may send, with the reason. One that says
// nothing is left out.
type refused struct{ why string }

func (r refused) apply(w *walk) (bool, error) {
	return w.refuse(forbidden("aibox refused the request because of %s: %s", w.at(), r.why))
}

// refuse reads a value and returns refusal. A value that says nothing is left out.
func (w *walk) refuse(refusal error) (bool, error) {
	if value, err := w.skip(nil); err != nil || saysNothing(value) {
		return false, err
	}
	return false, refusal
}

// saysNothing reports whether a value means the same as no value.
func saysNothing(value []byte) bool {
	switch compact := strings.Join(strings.Fields(string(value[:min(len(value), 16)])), ""); compact {
	case "null", "false", `""`, "[]", "{}":
		return true
	}
	return false
}

// serverTool is a value by which the model's server reaches further. It passes by
// its rule when the user has opened the kind, and is refused otherwise.
type serverTool struct {
	kind netguard.ServerTool
	rule rule
}

func (s serverTool) apply(w *walk) (bool, error) {
	if w.policy.opens(s.kind) {
		return s.rule.apply(w)
	}
	return w.refuse(w.closed(s.kind))
}

// offeredTool is a serverTool of a list in which agents offer tools by default. While
// the kind is closed the offer is left out as long as the model has other tools: the
// agent works on without it. A list with nothing else is refused, since the answer
// would pretend that the tool was used.
type offeredTool struct {
	kind netguard.ServerTool
	rule rule
}

func (o offeredTool) apply(w *walk) (bool, error) {
	if w.policy.opens(o.kind) {
		return o.rule.apply(w)
	}
	w.offers = append(w.offers, o.kind)
	w.note("=" + o.kind.String())
	_, err := w.skip(nil)
	return false, err
}

// history is a part of a conversation that a server-side tool has left in it. It is
// left out while the kind is closed.
type history struct {
	kind netguard.ServerTool
	rule rule
}

func (h history) apply(w *walk) (bool, error) {
	if w.policy.opens(h.kind) {
		return h.rule.apply(w)
	}
	return w.leave()
}

// closed refuses a server-side tool.
func (w *walk) closed(kind netguard.ServerTool) error {
	return forbidden("aibox refused the request because %s asks the model's server for %s, which your settings do not open. %s To allow it, set inference-tools = [%q] in your own settings",
		w.at(), kind, kind.Opens(), kind.String())
}
