package cli

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"aibox/internal/fault"
	"aibox/internal/paths"
	"aibox/internal/termtext"
	"aibox/netguard/gateway"
)

// ownersFile holds what the user said about model servers of other users of this
// machine, in the state folder.
const ownersFile = "servers.json"

// maxOwners bounds the file, in bytes.
const maxOwners = 1 << 20

// ownerDecision is the user's word about one server. It holds for the address together
// with the user that runs the server: another user there is another question.
type ownerDecision struct {
	Address string    `json:"address"`
	UID     int64     `json:"uid"`
	Name    string    `json:"name,omitempty"`
	Use     bool      `json:"use"`
	Decided time.Time `json:"decided"`
}

func (d ownerDecision) about(o gateway.Owner) bool {
	return d.Address == o.Address && d.UID == o.UID && d.Name == o.Name
}

// serverOwners remembers what the user said.
type serverOwners struct{ file string }

func openServerOwners() (serverOwners, error) {
	dirs, err := paths.Default()
	return serverOwners{filepath.Join(dirs.State, ownersFile)}, err
}

// load is what was said so far. A file that cannot be read says nothing.
func (s serverOwners) load() []ownerDecision {
	var all []ownerDecision
	data, err := paths.ReadSmall(s.file, maxOwners)
	if err != nil || json.Unmarshal(data, &all) != nil {
		return nil
	}
	return all
}

// said is the user's word about a server's owner; ok is false when there is none.
func (s serverOwners) said(o gateway.Owner) (use, ok bool) {
	all := s.load()
	if i := slices.IndexFunc(all, func(d ownerDecision) bool { return d.about(o) }); i >= 0 {
		return all[i].Use, true
	}
	return false, false
}

func (s serverOwners) remember(o gateway.Owner, use bool) error {
	all := slices.DeleteFunc(s.load(), func(d ownerDecision) bool { return d.about(o) })
	all = append(all, ownerDecision{o.Address, o.UID, o.Name, use, time.Now().UTC().Truncate(time.Second)})
	data, err := json.MarshalIndent(all, "", "  ")
	if err != nil {
		return err
	}
	if err := paths.MakePrivate(filepath.Dir(s.file)); err != nil {
		return err
	}
	return paths.WriteFile(s.file, append(data, '\n'))
}

// admitsOwner is the Admits of every upstream: what the user said. Whoever was not
// asked about is not admitted.
func admitsOwner(o gateway.Owner) bool {
	owners, err := openServerOwners()
	if err != nil {
		return false
	}
	use, _ := owners.said(o)
	return use
}

// askAboutServer asks once whether prompts may go to a server that another user of
// this machine runs, when inference means such a server and no other. Where nobody
// can be asked it does nothing, and the server is not used.
func (a *app) askAboutServer(ctx context.Context, inference string) error {
	if !a.errTerm.interactive || !terminalOf(a.in).interactive {
		return nil
	}
	owner, ok := gateway.Foreign(ctx, inference, os.LookupEnv, admitsOwner)
	if !ok {
		return nil
	}
	owners, err := openServerOwners()
	if err != nil {
		return err
	}
	// A server that was refused is asked about again only when it is named.
	if _, said := owners.said(owner); said && inference != "ollama" {
		return nil
	}
	fmt.Fprintf(a.err, "%s %s runs as another user of this machine.\n  That user can read every prompt, with the code in it, and decides what your agent is answered.\n",
		a.errTerm.warn("!"), sentence(termtext.Escape(owner.String())))
	use, err := a.yes(ctx, "Use it, now and in future? [y/N] ")
	if err != nil {
		return err
	}
	return owners.remember(owner, use)
}

// sentence is text with a capital letter in front.
func sentence(text string) string {
	if text == "" {
		return text
	}
	return strings.ToUpper(text[:1]) + text[1:]
}

// yes asks a question on the terminal, with no as the answer of the return key.
func (a *app) yes(ctx context.Context, question string) (bool, error) {
	fmt.Fprint(a.err, question)
	line := make(chan string, 1)
	go func() { // ends with the program where nobody answers
		text, _ := bufio.NewReader(a.in).ReadString('\n')
		line <- text
	}()
	select {
	case <-ctx.Done():
		fmt.Fprintln(a.err)
		return false, fault.New(fault.Interrupted, "interrupted; nothing was started")
	case text := <-line:
		text = strings.ToLower(strings.TrimSpace(text))
		return text == "y" || text == "yes", nil
	}
}
