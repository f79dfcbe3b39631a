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
	maxIntake  = 8 << 20 // bytes of all bodies in memory at the same time
	maxValues  = 50_000  // values in one request's JSON: each needs far more memory than its few bytes
)

// errBusy asks a client to try again later.
var errBusy = errors.New("the built-in server has as many requests as it can hold")

// intake limits the memory of request bodies.
type intake struct {
	mu   sync.Mutex
	free int
}

// read reads a body. The caller must release the result, even after an error.
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

// release returns the memory of body.
func (i *intake) release(body []byte) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.free += cap(body)
}

// statusOf returns the HTTP status for an error of read.
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

// checkValues rejects JSON with more than maxValues values. It counts the characters
// that begin or separate values, outside of strings.
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
