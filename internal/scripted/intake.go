package scripted

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
)

const (
	maxRequest = 4 << 20 // bytes of one request's body
	maxIntake  = 8 << 20 // bytes of all bodies that are in memory at a time
	maxValues  = 50_000  // values in one request's JSON: each takes far more memory than its few bytes
)

// errBusy asks a client to come again.
var errBusy = errors.New("the built-in server has as many requests as it can hold")

// intake bounds the memory that the bodies of requests take.
type intake struct {
	mu   sync.Mutex
	free int
}

// read reads a body. What it returns, even with an error, is to be released.
func (i *intake) read(source io.Reader) ([]byte, error) {
	var body []byte
	for {
		if len(body) == cap(body) {
			size := max(2*cap(body), 16<<10)
			if !i.take(size - cap(body)) {
				return body, errBusy
			}
			body = append(make([]byte, 0, size), body...)
		}
		n, err := source.Read(body[len(body):cap(body)])
		body = body[:len(body)+n]
		if errors.Is(err, io.EOF) {
			return body, nil
		}
		if err != nil {
			return body, err
		}
	}
}

func (i *intake) take(size int) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.free < size {
		return false
	}
	i.free -= size
	return true
}

// release gives back what body takes.
func (i *intake) release(body []byte) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.free += cap(body)
}

// statusOf is the status for a body that could not be read.
func statusOf(err error) int {
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		return http.StatusRequestEntityTooLarge
	case errors.Is(err, errBusy):
		return http.StatusTooManyRequests
	default:
		return http.StatusBadRequest
	}
}

// checkValues refuses JSON with more values than a conversation has. It counts what
// begins or separates them, outside of strings.
func checkValues(body []byte) error {
	values, inString := 0, false
	for i := 0; i < len(body); i++ {
		switch c := body[i]; {
		case inString && c == '\\':
			i++
		case c == '"':
			inString = !inString
		case !inString && (c == ',' || c == '[' || c == '{'):
			values++
		}
	}
	if values > maxValues {
		return fmt.Errorf("it has %d values, and at most %d are read", values, maxValues)
	}
	return nil
}
