package schema

// streaming passes an object and ensures that a streamed answer ends with its usage, since
// its tokens would be unknown otherwise.
// https://platform.openai.com/docs/api-reference/chat/create#chat-create-stream_options
type streaming struct {
	object
	stored bool // some servers store the answers, unless the request has "store":false
}

func (s streaming) apply(w *walk) (bool, error) {
	if s.stored && w.policy.StoresChats {
		s.object.force = map[string]string{"store": "false"}
	}
	s.object.last = func() []byte {
		if !w.policy.StreamUsage || !w.streams || w.hasStreamOptions {
			return nil
		}
		return []byte(`"stream_options":{"include_usage":true}`)
	}
	return s.object.apply(w)
}

// streamSwitch passes the member that requests a streamed answer.
type streamSwitch struct{}

func (streamSwitch) apply(w *walk) (bool, error) {
	w.streams = w.dec.PeekKind() == 't'
	return scalar{}.apply(w)
}

// streamOptions passes the options for a streamed answer.
type streamOptions struct{}

func (streamOptions) apply(w *walk) (bool, error) {
	options := object{fields: streamFields()}
	if w.policy.StreamUsage {
		options.force = map[string]string{"include_usage": "true"}
	}
	ok, err := options.apply(w)
	w.hasStreamOptions = ok
	return ok, err
}

func streamFields() fields {
	return fields{"include_usage": scalar{}, "include_obfuscation": scalar{}, "continuous_usage_stats": scalar{}}
}
