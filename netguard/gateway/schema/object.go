package schema

import (
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

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
	// need are members without which the object would have another meaning.
	need []string
	// force are members with fixed values as JSON, which replace those of the agent.
	force map[string]string
	// last returns one more member, as JSON; nil for none. It may be nil itself.
	last func() []byte
}

func (o object) apply(w *walk) (bool, error) {
	if w.dec.PeekKind() != '{' {
		return w.leave()
	}
	if err := w.open(); err != nil {
		return false, err
	}
	w.out.write([]byte{'{'})
	passed := make([]string, 0, 8)
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
	if o.last != nil {
		if more := o.last(); more != nil {
			if len(passed) > 0 {
				w.out.write([]byte{','})
			}
			w.out.write(more)
		}
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
	if w.scratch, err = jsontext.AppendQuote(w.scratch[:0], name); err != nil {
		return "", malformed(err)
	}
	w.scratch = append(w.scratch, ':')
	w.out.write(w.scratch)
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

// nullOr passes null where it means the same as no value.
func (w *walk) nullOr(r rule) (bool, error) {
	if w.dec.PeekKind() != 'n' {
		return r.apply(w)
	}
	if _, err := w.dec.ReadToken(); err != nil {
		return false, malformed(err)
	}
	switch r.(type) {
	case modelName, pathModel, refused, serverTool, offeredTool, streamOptions:
		return false, nil
	}
	w.out.write([]byte("null"))
	return true, nil
}

// camelCase returns a name in camel case: in Gemini's API both spellings mean the same
// field.
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
