package server

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"google.golang.org/genproto/googleapis/api/annotations"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	"aibox/internal/fault"
)

// A request of REST has fields in its path, in its query and in its body. Vanguard takes the
// last one if a field is in two of them, or twice in the query. Here that is an error, so that
// a request means what each of its parts says.

// restRule is the path at which REST has a method.
type restRule struct {
	verb     string   // of HTTP
	segments []string // of the path: literal, {FIELD} or {FIELD}:NAME
	bound    []string // the fields in the path
	body     string   // the field that is the body; "*" for all but bound, empty for no body
	input    protoreflect.MessageDescriptor
}

// restRules returns the rules of all methods.
func restRules() (rules []restRule) {
	protoregistry.GlobalFiles.RangeFilesByPackage("aibox.v1", func(file protoreflect.FileDescriptor) bool {
		for s := range file.Services().Len() {
			methods := file.Services().Get(s).Methods()
			for n := range methods.Len() {
				if rule, ok := restRuleOf(methods.Get(n)); ok {
					rules = append(rules, rule)
				}
			}
		}
		return true
	})
	return rules
}

// restRuleOf returns the rule of a method; false if REST does not have it.
func restRuleOf(method protoreflect.MethodDescriptor) (rule restRule, ok bool) {
	given, _ := proto.GetExtension(method.Options(), annotations.E_Http).(*annotations.HttpRule)
	path := ""
	switch pattern := given.GetPattern().(type) {
	case *annotations.HttpRule_Get:
		rule.verb, path = http.MethodGet, pattern.Get
	case *annotations.HttpRule_Put:
		rule.verb, path = http.MethodPut, pattern.Put
	case *annotations.HttpRule_Post:
		rule.verb, path = http.MethodPost, pattern.Post
	case *annotations.HttpRule_Patch:
		rule.verb, path = http.MethodPatch, pattern.Patch
	case *annotations.HttpRule_Delete:
		rule.verb, path = http.MethodDelete, pattern.Delete
	default:
		return rule, false
	}
	rule.segments, rule.body, rule.input = strings.Split(path, "/"), given.GetBody(), method.Input()
	for _, segment := range rule.segments {
		if name, _, ok := strings.Cut(strings.TrimPrefix(segment, "{"), "}"); ok {
			rule.bound = append(rule.bound, name)
		}
	}
	return rule, true
}

// matches reports whether a request has the path of the rule.
func (rule *restRule) matches(verb string, segments []string) bool {
	if verb != rule.verb || len(segments) != len(rule.segments) {
		return false
	}
	for i, want := range rule.segments {
		_, action, isField := strings.Cut(want, "}")
		switch got := segments[i]; {
		case !isField && got != want:
			return false
		case isField && (!strings.HasSuffix(got, action) || strings.Contains(strings.TrimSuffix(got, action), ":")):
			return false
		}
	}
	return true
}

// check refuses parameters that are unknown, or contradict the path, the body or each other.
func (rule *restRule) check(query url.Values) error {
	count := map[string]int{} // how often each path of a field is given
	for name, values := range query {
		top, _, _ := strings.Cut(name, ".")
		field := rule.field(top)
		if field == nil {
			return errUnknownParameter(name)
		}
		own := string(field.Name())
		switch {
		case slices.Contains(rule.bound, own):
			return fault.New(fault.Usage, "%s is in the path, so it cannot be a parameter of the query", own)
		case rule.body == "*" || rule.body == own:
			return fault.New(fault.Usage, "%s belongs in the body, so it cannot be a parameter of the query", own)
		case field.IsList():
			continue
		}
		at := own + name[len(top):]
		if count[at] += len(values); count[at] > 1 {
			return errTwice(at)
		}
	}
	return nil
}

// field returns the field of the request with a name of the schema or of JSON; nil for none.
func (rule *restRule) field(name string) protoreflect.FieldDescriptor {
	if field := rule.input.Fields().ByName(protoreflect.Name(name)); field != nil {
		return field
	}
	return rule.input.Fields().ByJSONName(name)
}

func errUnknownParameter(name string) error {
	return fault.New(fault.Usage, "the query has %q, which this call does not know", name)
}

func errTwice(name string) error {
	return fault.New(fault.Usage, "the query has %s more than once", name)
}

// checkREST passes on requests whose query does not contradict itself or their path and body, and
// whose body can be decoded.
func checkREST(rules []restRule, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		query, err := parseQuery(r)
		segments := strings.Split(r.URL.EscapedPath(), "/")
		if i := slices.IndexFunc(rules, func(rule restRule) bool { return rule.matches(r.Method, segments) }); err == nil && i >= 0 {
			err = rules[i].check(query)
		}
		if err == nil {
			err = checkEncoding(r, encoding)
		}
		if err != nil {
			WriteError(w, r, err)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// parseQuery returns the parameters of a request. Unlike URL.Query, it omits none that is
// malformed.
func parseQuery(r *http.Request) (url.Values, error) {
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return nil, fault.New(fault.Usage, "the query cannot be read: %w", err)
	}
	return query, nil
}

// CheckQuery refuses a query with parameters that are unknown, malformed, or given more than
// once.
func CheckQuery(r *http.Request, known ...string) error {
	query, err := parseQuery(r)
	for name, values := range query {
		switch {
		case err != nil:
		case !slices.Contains(known, name):
			err = errUnknownParameter(name)
		case len(values) > 1:
			err = errTwice(name)
		}
	}
	return err
}

// checkBody refuses a message from the body of a request that has fields of its path.
func checkBody(rules []restRule, message proto.Message) error {
	m := message.ProtoReflect()
	for _, rule := range rules {
		if rule.input.FullName() != m.Descriptor().FullName() {
			continue
		}
		for _, name := range rule.bound {
			if field := m.Descriptor().Fields().ByName(protoreflect.Name(name)); field != nil && m.Has(field) {
				return fault.New(fault.Usage, "%s is in the path, so it cannot be in the body", name)
			}
		}
	}
	return nil
}
