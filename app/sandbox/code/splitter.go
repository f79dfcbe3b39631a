package code

import "bytes"

// maxAnswer bounds the answer of a driver in a stream, in bytes.
const maxAnswer = 2 << 20

// splitter separates the output of code from the answer of its driver in the same stream.
// The answer follows a marker that cannot be guessed in advance, and ends with a NUL byte.
type splitter struct {
	marker []byte
	output func([]byte)
	// begin announces the output of the request, in a context: code of an earlier request can
	// still print, if the server was killed in it. It is nil once the request has begun.
	begin []byte
	early func([]byte) // receives what comes before begin

	held   []byte // may be the beginning of begin or of the marker
	inside bool   // the marker was seen
	answer []byte
	done   bool // the answer is complete
}

// newSplitter returns the splitter for the request with a nonce.
func newSplitter(nonce string, output func([]byte)) *splitter {
	return &splitter{marker: []byte("\x00" + nonce), output: output}
}

// awaitBegin makes the splitter drop everything before the request begins, unless it is the
// first one of its interpreter, which may print why it cannot start.
func (s *splitter) awaitBegin(nonce string, isFirst bool) {
	s.begin, s.early = []byte("\x00"+nonce+"\x00"), func([]byte) {}
	if isFirst {
		s.early = s.output
	}
}

// feed adds bytes of the stream.
func (s *splitter) feed(p []byte) {
	if s.done {
		s.output(p)
		return
	}
	if s.begin != nil {
		rest, found := s.pass(p, s.begin, s.early)
		if !found {
			return
		}
		s.begin = nil
		if p = rest; len(p) == 0 {
			return
		}
	}
	if s.inside {
		s.collect(p)
		return
	}
	if rest, found := s.pass(p, s.marker, s.output); found {
		s.inside = true
		s.collect(rest)
	}
}

// pass passes what comes before mark to out, and returns what comes after it. Until mark is
// found, it holds back bytes that may be its beginning.
func (s *splitter) pass(p, mark []byte, out func([]byte)) (rest []byte, found bool) {
	data := append(s.held, p...)
	at := bytes.Index(data, mark)
	if at < 0 {
		keep := suffixLength(data, mark)
		out(data[:len(data)-keep])
		s.held = append([]byte(nil), data[len(data)-keep:]...)
		return nil, false
	}
	out(data[:at])
	s.held = nil
	return data[at+len(mark):], true
}

// collect adds bytes after the marker.
func (s *splitter) collect(p []byte) {
	end := bytes.IndexByte(p, 0)
	part := p
	if end >= 0 {
		part = p[:end]
	}
	s.answer = append(s.answer, part[:min(len(part), maxAnswer-len(s.answer))]...)
	if end >= 0 {
		s.done = true
		s.output(p[end+1:])
	}
}

// finish ends the stream.
func (s *splitter) finish() {
	if s.begin != nil {
		s.early(s.held)
	} else {
		s.output(s.held)
	}
	s.held = nil
}

// suffixLength returns the length of the longest suffix of data that is a prefix of marker.
func suffixLength(data, marker []byte) int {
	for n := min(len(data), len(marker)-1); n > 0; n-- {
		if bytes.HasPrefix(marker, data[len(data)-n:]) {
			return n
		}
	}
	return 0
}
