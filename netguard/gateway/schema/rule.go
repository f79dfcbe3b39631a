package schema

import (
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"aibox/internal/lazyregexp"
)

// rule defines which parts of a value pass. apply reads exactly one value and writes the
// parts that pass. It reports whether any did. A value that is left out is recorded and
// read to its end, and the caller drops anything that was written.
type rule interface {
	apply(*walk) (bool, error)
}

// scalar passes a string, number or boolean, whatever it is.
type scalar struct{}

func (scalar) apply(w *walk) (bool, error) {
	value, err := w.passScalar()
	return value != nil, err
}

// passScalar passes a scalar and returns it raw. It leaves out an object or a list, and returns nil.
func (w *walk) passScalar() ([]byte, error) {
	if kind := w.dec.PeekKind(); kind == '{' || kind == '[' {
		_, err := w.leave()
		return nil, err
	}
	value, err := w.skip(nil)
	if err != nil {
		return nil, err
	}
	w.out.refer(value)
	return value, nil
}

// anything passes a value unchanged if it is neither too deep nor too wide: data for the
// model that no server acts on.
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

// either passes a value by its JSON type.
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

// tagged passes an object according to the kind that its member key names. "NAME_*" matches
// a name with a date after it.
type tagged struct {
	key    string
	absent string // the kind of an object without the member; empty if it does not pass
	of     map[string]rule
}

var dateBehind = lazyregexp.New(`_[0-9]{8}$`)

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

// refused is a value that no session may send, with the reason. A value that means nothing
// is left out.
type refused struct{ why string }

func (r refused) apply(w *walk) (bool, error) {
	return w.refuse(forbidden("aibox refused the request because of %s: %s", w.at(), r.why))
}

// refuse reads a value and returns refusal. A value that means nothing is left out.
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
