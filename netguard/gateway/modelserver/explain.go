package modelserver

import (
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"syscall"

	"aibox/internal/fault"
)

// Explain turns a failed request into a fault with hints. It never quotes err, which could
// contain a URL with a key.
func (u Server) Explain(err error) *fault.Fault {
	where := u.Base().Host
	var dns *net.DNSError
	var timeout net.Error
	var foreign foreignError
	var key keyError
	switch {
	case errors.As(err, &key):
		return key.fault()
	case errors.Is(err, ErrUnserved):
		return fault.New(fault.Usage, "%s does not serve this call", u.Name).Hint("choose another server with --inference")
	case errors.As(err, &foreign):
		return foreign.fault()
	case u.Kind == Scripted:
		return fault.New(fault.Internal, "the built-in server failed")
	case errors.Is(err, syscall.ECONNREFUSED) && u.Kind == OllamaHost:
		return fault.New(fault.Environment, "Ollama is not running on %s", where).Hint("ollama serve")
	case errors.Is(err, syscall.ECONNREFUSED):
		return fault.New(fault.Environment, "nothing answers on %s", where).Hint("start the model server, or choose another with aibox run --inference")
	case errors.As(err, &dns):
		return fault.New(fault.Environment, "the host %s is not known", u.Base().Hostname()).Hint("aibox run --inference …   # check the name and this machine's network")
	case errors.As(err, &timeout) && timeout.Timeout():
		return fault.New(fault.Environment, "%s does not answer in time", where).Hint("check this machine's network, or choose another with aibox run --inference")
	default:
		return fault.New(fault.Environment, "%s cannot be reached (%s)", where, reason(err)).Hint("check this machine's network, or choose another with aibox run --inference")
	}
}

// reason returns the innermost reason of err without any of its values.
func reason(err error) string {
	var errno syscall.Errno
	switch {
	case errors.As(err, &errno):
		return errno.Error()
	case strings.Contains(err.Error(), "certificate"):
		return "its certificate is not trusted"
	case strings.Contains(err.Error(), "HTTP response to HTTPS client"):
		return "it speaks http, not https"
	case strings.Contains(err.Error(), "EOF"):
		return "it hung up"
	default:
		return fmt.Sprintf("%T", errors.Unwrap(err))
	}
}

// printable escapes everything that is not plain ASCII.
func printable(text string) string {
	quoted := strconv.QuoteToASCII(text)
	return quoted[1 : len(quoted)-1]
}
