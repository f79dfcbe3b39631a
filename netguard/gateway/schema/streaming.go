package schema

// streaming passes an object and ensures that a streamed answer ends with its usage, since
// its tokens would be unknown otherwise.
// https://platform.openai.com/docs/api-reference/chat/create#chat-create-stream_options
type streaming struct{ object }

func (s streaming) apply(w *walk) (bool, error) {
	if !w.policy.StoresChats {
		s.object.force = nil
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
type streamOptions struct{ object }

func newStreamOptions() streamOptions {
	return streamOptions{object{
		fields: fields{"include_usage": scalar{}, "include_obfuscation": scalar{}, "continuous_usage_stats": scalar{}},
		force:  map[string]string{"include_usage": "true"},
	}}
}

func (s streamOptions) apply(w *walk) (bool, error) {
	if !w.policy.StreamUsage {
		s.object.force = nil
	}
	ok, err := s.object.apply(w)
	w.hasStreamOptions = ok
	return ok, err
}
