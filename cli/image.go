package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"strings"

	"aibox/bakery"
	"aibox/internal/fault"
	"aibox/runtime"
)

// offerToBake bakes a missing image where a person is there to say yes.
func (a *app) offerToBake(ctx context.Context, kitchen *bakery.Bakery, agent, image string) (bool, error) {
	stands := "is not there yet"
	if _, err := kitchen.Find(ctx, image); errors.Is(err, bakery.ErrOutdated) {
		stands = "is outdated"
	}
	if !a.offer(fmt.Sprintf("The image of %s %s. Bake it now? It takes some minutes.", agent, stands)) {
		return false, nil
	}
	_, err := a.bakeWith(ctx, kitchen, []string{image})
	return err == nil, err
}

// whyDocker is the better error of two where the bakery failed because the daemon
// cannot be used: the one that says how to get a daemon.
func (a *app) whyDocker(ctx context.Context, err error) error {
	if missingImage(err) || ctx.Err() != nil {
		return err
	}
	if _, unusable := a.docker(ctx); unusable != nil {
		return unusable
	}
	return err
}

// namedImage finds an image by the reference that a user typed.
func (a *app) namedImage(ctx context.Context, ref string) (runtime.ImageID, error) {
	daemon, err := a.docker(ctx)
	if err != nil {
		return "", err
	}
	id, err := daemon.Backend.Image(ctx, ref)
	if errors.Is(err, runtime.ErrNoImage) {
		return "", fault.New(fault.Environment, "Docker has no image %q", ref).
			Hint("pull or build it with the Docker that aibox uses, or leave --image out")
	}
	return id, err
}

// offer asks a person a question with yes as the answer of the return key. Where
// nobody can answer it is no.
func (a *app) offer(question string) bool {
	if !a.errTerm.interactive || !terminalOf(a.in).interactive {
		return false
	}
	fmt.Fprintf(a.err, "%s [Y/n] ", question)
	answer, err := bufio.NewReader(a.in).ReadString('\n')
	if err != nil {
		fmt.Fprintln(a.err)
		return false
	}
	switch strings.ToLower(strings.TrimSpace(answer)) {
	case "", "y", "yes":
		return true
	default:
		return false
	}
}
