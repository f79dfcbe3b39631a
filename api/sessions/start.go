package sessions

import (
	"context"
	"errors"
	"io"
	"maps"
	"slices"
	"strconv"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/types/known/timestamppb"

	aiboxv1 "aibox/api/aibox/v1"
	"aibox/api/auth"
	"aibox/api/netmode"
	"aibox/app/agentsession"
	"aibox/config"
	"aibox/internal/fault"
)

// fromStart returns the request for a session.
func fromStart(m *aiboxv1.StartSessionRequest) (agentsession.Request, error) {
	if m.GetIdempotencyKey() != "" {
		return agentsession.Request{}, fault.New(fault.Usage, "sessions of agents have no idempotency keys").Hint("leave out idempotency_key")
	}
	settings, err := fromSettings(m)
	return agentsession.Request{
		Agent: m.GetAgent(), Repository: m.GetRepository(), Tree: m.GetTreeId(), Branch: m.GetBranch(), Prompt: m.GetPrompt(),
		Settings: settings, Options: m.GetOptions(), Metadata: m.GetMetadata(),
	}, err
}

// fromSettings returns the settings of a request. One that is given twice is a Usage fault.
func fromSettings(m *aiboxv1.StartSessionRequest) (given config.RunOverrides, err error) {
	set := func(key, value string) {
		if err == nil {
			err = given.Set(key, value)
		}
	}
	words := func(key string, list *aiboxv1.HostList) {
		if err == nil && list != nil {
			err = given.SetWords(key, list.GetHosts())
		}
	}
	if n := m.GetNetwork(); n != nil {
		if mode := n.GetMode(); mode != aiboxv1.NetworkMode_NETWORK_MODE_UNSPECIFIED {
			name, known := netmode.Names[mode]
			if !known {
				return given, fault.New(fault.Usage, "%d is not a network mode", mode).Hint("leave it out, or use none, local, allowlist or public")
			}
			set("network", name)
		}
		words("allow", n.Allow)
		words("deny", n.Deny)
		if n.UploadMib != nil {
			set("egress-upload", number(n.GetUploadMib()))
		}
		if n.DownloadMib != nil {
			set("egress-download", number(n.GetDownloadMib()))
		}
	}
	if l := m.GetLimits(); l != nil {
		if l.MemoryMib != nil {
			set("memory", number(l.GetMemoryMib()))
		}
		if l.Cpus != nil {
			set("cpus", strconv.FormatFloat(l.GetCpus(), 'f', -1, 64))
		}
		if l.Processes != nil {
			set("pids", number(int64(l.GetProcesses())))
		}
	}
	for _, key := range slices.Sorted(maps.Keys(m.GetSettings())) {
		if err == nil && given.Has(key) {
			err = fault.New(fault.Usage, "the setting %s is given twice, in settings and in a field of its own", key)
		}
		set(key, m.GetSettings()[key])
	}
	return given, err
}

// UploadTree stores a source tree.
func (h *Handler) UploadTree(ctx context.Context, stream *connect.ClientStream[aiboxv1.UploadTreeRequest]) (*connect.Response[aiboxv1.Tree], error) {
	tree, err := h.AddTree(ctx, &treeReader{stream: stream})
	if err != nil {
		return nil, err
	}
	return connect.NewResponse(tree), nil
}

// AddTree stores the source tree in a tar archive.
func (h *Handler) AddTree(ctx context.Context, archive io.Reader) (*aiboxv1.Tree, error) {
	cases, err := h.cases(ctx)
	if err != nil {
		return nil, err
	}
	tree, err := cases.Trees.Add(ctx, auth.From(ctx).Tenant, archive)
	if err != nil {
		return nil, err
	}
	return &aiboxv1.Tree{TreeId: tree.ID, ExpireTime: timestamppb.New(tree.Expires)}, nil
}

// treeReader reads the archive in the messages of a stream.
type treeReader struct {
	stream *connect.ClientStream[aiboxv1.UploadTreeRequest]
	rest   []byte
}

// Read implements io.Reader.
func (t *treeReader) Read(p []byte) (int, error) {
	for len(t.rest) == 0 {
		if !t.stream.Receive() {
			if err := t.stream.Err(); err != nil && !errors.Is(err, io.EOF) {
				return 0, err
			}
			return 0, io.EOF
		}
		t.rest = t.stream.Msg().GetArchive().GetData()
	}
	n := copy(p, t.rest)
	t.rest = t.rest[n:]
	return n, nil
}
