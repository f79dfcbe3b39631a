package probe

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"syscall"
	"time"
)

// errSilence reports that neither an answer nor a refusal arrived.
var errSilence = errors.New("no answer in time")

// Run runs all probes of the plan at the same time and returns when they have ended. It
// passes each result on as soon as it arrives, with its place in the plan, and possibly
// several at the same time. A probe that cannot run is a failed result.
func Run(ctx context.Context, plan Plan, ended func(place int, result Result)) {
	var group sync.WaitGroup
	for i, p := range plan.Probes {
		if i >= MaxProbes {
			result := p.Pending()
			result.Detail = "the plan has too many probes"
			ended(i, result)
			continue
		}
		group.Go(func() { ended(i, p.run(ctx)) })
	}
	group.Wait()
}

// Pending returns the result of a probe that has not ended: failed, and without a detail.
func (p Probe) Pending() Result {
	return Result{Name: p.Name, Kind: p.Kind, Target: p.Target, Want: p.Want}
}

func (p Probe) run(ctx context.Context) Result {
	timeout := DefaultTimeout
	switch {
	case p.Timeout > 0:
		timeout = time.Duration(p.Timeout) * time.Millisecond
	case p.Quiet:
		timeout = QuietTimeout
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	start := time.Now()
	detail, err := p.ask(ctx)
	r := p.Pending()
	r.Took = time.Since(start).Microseconds()
	r.OK, r.Detail = p.judge(detail, err)
	return r
}

// ask returns the answer, or the error.
func (p Probe) ask(ctx context.Context) (string, error) {
	switch p.Kind {
	case TCP:
		return askTCP(ctx, p.Target)
	case HTTP:
		return askHTTP(ctx, p.Via, p.Target)
	case CONNECT:
		return askConnect(ctx, p.Via, p.Target)
	case UDP:
		return askUDP(ctx, p.Target)
	case DNS:
		return askDNS(ctx, p.Via, p.Target)
	case Write:
		return askWrite(p.Target)
	case ICMP:
		return askICMP(ctx, p.Target, p.Follow)
	default:
		return "", fmt.Errorf("%q is not a kind of probe", p.Kind)
	}
}

// judge compares the outcome with what the probe requires. An outcome that is neither an
// answer nor a clear refusal always fails.
func (p Probe) judge(detail string, err error) (ok bool, text string) {
	outcome := classify(err)
	if err != nil {
		detail = words(err)
	}
	switch p.Want {
	case Answers:
		return outcome == answered, detail
	case Refused:
		return outcome == refused || (outcome == silent && p.Quiet), detail
	default:
		return false, fmt.Sprintf("%q is no expectation", p.Want)
	}
}

// words describes an error without the addresses and the call, which the network library
// adds and the probe's name already contains.
func words(err error) string {
	var cause syscall.Errno
	switch {
	case classify(err) == silent:
		return errSilence.Error()
	case errors.As(err, &cause):
		return cause.Error()
	default:
		return err.Error()
	}
}

type outcome int

const (
	unclear outcome = iota // the probe itself failed
	answered
	refused
	silent
)

// refusal is a server's error message.
type refusal struct{ text string }

func (r refusal) Error() string { return r.text }

// refusals are the errors with which a kernel refuses at once.
var refusals = []error{
	syscall.ECONNREFUSED, syscall.ECONNRESET, syscall.ENETUNREACH, syscall.EHOSTUNREACH,
	syscall.EACCES, syscall.EPERM, syscall.EROFS, syscall.EADDRNOTAVAIL, syscall.EAFNOSUPPORT,
	syscall.EPROTONOSUPPORT, syscall.EHOSTDOWN, syscall.ENETDOWN,
}

func classify(err error) outcome {
	if err == nil {
		return answered
	}
	var said refusal
	if errors.As(err, &said) {
		return refused
	}
	for _, r := range refusals {
		if errors.Is(err, r) {
			return refused
		}
	}
	var timeout net.Error
	if errors.Is(err, errSilence) || errors.Is(err, os.ErrDeadlineExceeded) ||
		errors.Is(err, context.DeadlineExceeded) || (errors.As(err, &timeout) && timeout.Timeout()) {
		return silent
	}
	return unclear
}
