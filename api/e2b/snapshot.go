package e2b

import (
	"context"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"connectrpc.com/connect"

	aiboxv1 "aibox/api/aibox/v1"
)

// snapshotPrefix begins the ids of snapshots. The packages name a snapshot in place of a
// template.
const snapshotPrefix = "snap-"

// snapshotJSON is a snapshot in the packages' format.
type snapshotJSON struct {
	SnapshotID string   `json:"snapshotID"`
	Names      []string `json:"names"`
}

func describeSnapshot(s *aiboxv1.Snapshot) snapshotJSON {
	j := snapshotJSON{SnapshotID: s.SnapshotId, Names: []string{}}
	if s.Name != "" {
		j.Names = append(j.Names, s.Name)
	}
	return j
}

// createSnapshot stores the state of a sandbox.
func (s *Server) createSnapshot(w http.ResponseWriter, r *http.Request) error {
	var body struct {
		Name string `json:"name"`
	}
	if err := readBody(w, r, &body); err != nil {
		return err
	}
	made, err := s.snapshot(r.Context(), r.PathValue("id"), body.Name)
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusCreated, describeSnapshot(made))
	return nil
}

func (s *Server) snapshot(ctx context.Context, id, name string) (*aiboxv1.Snapshot, error) {
	found, err := s.live(ctx, id)
	if err != nil {
		return nil, err
	}
	made, err := s.backend.sandboxes.Snapshot(ctx, connect.NewRequest(&aiboxv1.SnapshotSandboxRequest{SandboxId: found.SandboxId, Name: name}))
	if err != nil {
		return nil, err
	}
	return made.Msg, nil
}

// listSnapshots lists snapshots, newest first, on one page.
func (s *Server) listSnapshots(w http.ResponseWriter, r *http.Request) error {
	query := r.URL.Query()
	all, err := s.snapshots(r.Context(), query.Get("sandboxID"))
	if err != nil {
		return err
	}
	found := []snapshotJSON{}
	for _, one := range all {
		if name := query.Get("name"); name == "" || name == one.Name || name == one.SnapshotId {
			found = append(found, describeSnapshot(one))
		}
	}
	begin, err := parseOffset(query.Get("nextToken"), len(found))
	if err != nil {
		return err
	}
	found = found[begin:]
	if text := query.Get("limit"); text != "" {
		size, err := strconv.Atoi(text)
		if err != nil || size < 1 || size > maxPage {
			return &apiError{http.StatusBadRequest, "the limit is between 1 and " + strconv.Itoa(maxPage)}
		}
		if size < len(found) {
			w.Header().Set(nextHeader, strconv.Itoa(begin+size))
			found = found[:size]
		}
	}
	writeJSON(w, http.StatusOK, found)
	return nil
}

// snapshots returns the caller's snapshots of a sandbox, or of all, without those of forks. It
// deletes those that forks have left.
func (s *Server) snapshots(ctx context.Context, sandbox string) ([]*aiboxv1.Snapshot, error) {
	all, err := s.backend.sandboxes.ListSnapshots(ctx, connect.NewRequest(&aiboxv1.ListSnapshotsRequest{SandboxId: sandbox}))
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(all.Msg.Snapshots, func(one *aiboxv1.Snapshot) bool {
		isFork, isLeft := s.forks.check(one.SandboxId, one.Name)
		if isLeft { // a caller without the right for it leaves it to another one
			_, _ = s.backend.sandboxes.DeleteSnapshot(ctx, connect.NewRequest(&aiboxv1.DeleteSnapshotRequest{SnapshotId: one.SnapshotId}))
		}
		return isFork
	}), nil
}

// parseOffset reads the token of a page: the number of the snapshots before it.
func parseOffset(text string, most int) (int, error) {
	if text == "" {
		return 0, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 {
		return 0, &apiError{http.StatusBadRequest, strconv.Quote(text) + " is not the token of a page"}
	}
	return min(n, most), nil
}

// snapshotID returns the id of the caller's snapshot with that id or name; empty if there is
// none.
func (s *Server) snapshotID(ctx context.Context, name string) (string, error) {
	if !strings.HasPrefix(name, snapshotPrefix) {
		return "", nil
	}
	all, err := s.snapshots(ctx, "")
	if err != nil {
		return "", err
	}
	if slices.ContainsFunc(all, func(one *aiboxv1.Snapshot) bool { return one.SnapshotId == name }) {
		return name, nil
	}
	return "", nil
}

// continueFrom changes a request to one for a sandbox from a snapshot. The snapshot determines
// the permissions of its processes.
func continueFrom(id string, request *aiboxv1.CreateSandboxRequest) {
	request.SnapshotId, request.Template, request.Permissions = id, "", nil
}
