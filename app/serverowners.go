package app

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"time"

	"aibox/internal/paths"
	"aibox/netguard/gateway/modelserver"
)

// ownersFile holds the user's decisions about model servers of other users of this
// machine, in the state folder.
const ownersFile = "servers.json"

// maxOwners bounds the file, in bytes.
const maxOwners = 1 << 20

// ownerDecision is the user's decision about one server. It applies to the address together
// with the user who runs the server: if another user runs a server at the address, aibox
// asks again.
type ownerDecision struct {
	Address string    `json:"address"`
	UID     int64     `json:"uid"`
	Name    string    `json:"name,omitempty"`
	Use     bool      `json:"use"`
	Decided time.Time `json:"decided"`
}

func (d ownerDecision) appliesTo(o modelserver.Owner) bool {
	return d.Address == o.Address && d.UID == o.UID && d.Name == o.Name
}

// serverOwners stores the user's decisions.
type serverOwners struct{ file string }

func openServerOwners() (serverOwners, error) {
	dirs, err := paths.Default()
	return serverOwners{filepath.Join(dirs.State, ownersFile)}, err
}

// load returns all decisions. If the file cannot be read, there are none.
func (s serverOwners) load() []ownerDecision {
	var all []ownerDecision
	data, err := paths.ReadSmall(s.file, maxOwners)
	if err != nil || json.Unmarshal(data, &all) != nil {
		return nil
	}
	return all
}

// decision is the user's decision about a server's owner; ok is false for none.
func (s serverOwners) decision(o modelserver.Owner) (use, ok bool) {
	all := s.load()
	if i := slices.IndexFunc(all, func(d ownerDecision) bool { return d.appliesTo(o) }); i >= 0 {
		return all[i].Use, true
	}
	return false, false
}

func (s serverOwners) remember(o modelserver.Owner, use bool) error {
	all := slices.DeleteFunc(s.load(), func(d ownerDecision) bool { return d.appliesTo(o) })
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

// admitsOwner is Admits for every upstream. An owner without a decision is not admitted.
func admitsOwner(o modelserver.Owner) bool {
	owners, err := openServerOwners()
	if err != nil {
		return false
	}
	use, _ := owners.decision(o)
	return use
}

// ForeignServer is a model server of another user of this machine.
type ForeignServer struct {
	owner  modelserver.Owner
	owners serverOwners
}

// UndecidedServer finds the server of another user that inference selects and about which
// the user must decide before it is used. A refused server counts as undecided again if
// inference names it.
func UndecidedServer(ctx context.Context, inference string) (server ForeignServer, found bool, err error) {
	owner, ok := modelserver.UntrustedOwner(ctx, inference, os.LookupEnv, admitsOwner)
	if !ok {
		return ForeignServer{}, false, nil
	}
	owners, err := openServerOwners()
	if err != nil {
		return ForeignServer{}, false, err
	}
	if _, decided := owners.decision(owner); decided && inference != "ollama" {
		return ForeignServer{}, false, nil
	}
	return ForeignServer{owner, owners}, true, nil
}

// String describes the server and its owner, raw.
func (s ForeignServer) String() string { return s.owner.String() }

// Decide stores whether prompts may go to the server, now and later.
func (s ForeignServer) Decide(use bool) error { return s.owners.remember(s.owner, use) }
