package sessions

import (
	"context"
	"errors"
	"io"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/types/known/timestamppb"

	aiboxv1 "aibox/api/aibox/v1"
	"aibox/api/auth"
	"aibox/api/setting"
	"aibox/app/agentsession"
	"aibox/config"
)

// fromStart returns the request for a session.
func fromStart(m *aiboxv1.StartSessionRequest) (agentsession.Request, error) {
	settings, err := fromSettings(m)
	return agentsession.Request{
		Agent: m.GetAgent(), Repository: m.GetRepository(), Tree: m.GetTreeId(), Branch: m.GetBranch(), Prompt: m.GetPrompt(),
		Settings: settings, Options: m.GetOptions(), Metadata: m.GetMetadata(),
	}, err
}

// fromSettings returns the settings of a request. One that is given twice is a Usage fault.
func fromSettings(m *aiboxv1.StartSessionRequest) (config.RunOverrides, error) {
	var r setting.Reader
	r.Network(m.GetNetwork())
	r.Limits(m.GetLimits())
	r.Further(m.GetSettings())
	return r.Result()
}

// UploadTree stores a source tree.
func (h *Handler) UploadTree(ctx context.Context, stream *connect.ClientStream[aiboxv1.UploadTreeRequest]) (*connect.Response[aiboxv1.Tree], error) {
	tree, err := h.AddTree(ctx, &treeReader{stream: stream})
	if err != nil {
		return nil, err
	}
	return connect.NewResponse(tree), nil
}

// AddTree stores a source tree from a tar archive.
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
