package app

import (
	"context"
	"slices"
	"time"

	"aibox/app/doctor"
	"aibox/internal/termtext"
	"aibox/netguard/gateway/modelserver"
)

// Model is a model of a server, as the server describes it.
type Model = modelserver.Model

// ModelReport is the JSON of `aibox models`.
type ModelReport struct {
	ModelList
	Stale  bool     `json:"stale,omitempty"`  // the server did not answer; the list is an older one
	Others []string `json:"others,omitempty"` // addresses of other servers that answer
	Err    error    `json:"-"`                // why the list is stale
}

// Models lists the models of the server that inference names. A hosted server is asked only
// if the last answer is old or refresh is set. If a server does not answer, Models returns
// the last list, marked as stale, or its error if refresh is set.
func (a *App) Models(ctx context.Context, inference string, refresh bool) (ModelReport, error) {
	u, err := openUpstream(ctx, inference, a.keys.lookup, a.providers())
	if err != nil {
		return ModelReport{}, err
	}
	cache, err := openModelCache()
	if err != nil {
		return ModelReport{}, err
	}
	var report ModelReport
	if report.ModelList, err = cache.ask(ctx, u, refresh || u.Kind != modelserver.Hosted); err != nil {
		stale, ok := cache.load(u)
		if !ok || refresh {
			return ModelReport{}, err
		}
		report = ModelReport{ModelList: stale, Stale: true, Err: err}
	}
	report.Others = a.otherServers(ctx, u)
	return report, nil
}

// otherServers lists the addresses of the servers on this machine other than u.
func (a *App) otherServers(ctx context.Context, u modelserver.Server) []string {
	var found []string
	for _, other := range modelserver.Local(ctx, a.keys.lookup, admitsOwner) {
		if other.Address() != u.Address() {
			found = append(found, other.URL.String())
		}
	}
	return found
}

// completionTimeout bounds how long completion waits for a model server.
const completionTimeout = 300 * time.Millisecond

// CompleteModels lists the models of the server that inference names, for completion and
// forms: from the cache, or within completionTimeout from the server. It returns nothing if
// it would have to wait longer.
func (a *App) CompleteModels(ctx context.Context, inference string) []Model {
	ctx, cancel := context.WithTimeout(ctx, completionTimeout)
	defer cancel()
	u, err := openUpstream(ctx, inference, a.keys.lookup, a.providers())
	if err != nil {
		return nil
	}
	cache, err := openModelCache()
	if err != nil {
		return nil
	}
	list, err := cache.ask(ctx, u, false)
	if err != nil {
		list, _ = cache.load(u)
	}
	return slices.DeleteFunc(list.Models, func(m Model) bool { return termtext.Escape(m.ID) != m.ID })
}

// InferenceNames are the values of the setting inference without a file or a URL.
func InferenceNames() []string {
	return slices.DeleteFunc(modelserver.Names(), func(name string) bool { return name == "scripted:FILE" })
}

// findModelServer finds the server that inference selects, and checks whether a server
// without a key answers.
func (a *App) findModelServer(ctx context.Context, inference string) (doctor.ModelServer, error) {
	upstream, err := modelserver.Detect(ctx, inference, a.keys.lookup, admitsOwner, a.providers()...)
	if err != nil {
		return doctor.ModelServer{}, err
	}
	server := doctor.ModelServer{Name: upstream.Name, KeyName: upstream.KeyName, Scripted: upstream.Kind == modelserver.Scripted}
	if !server.Scripted && !upstream.HasKey() {
		ctx, cancel := context.WithTimeout(ctx, describeTimeout)
		defer cancel()
		_, err := modelserver.Models(ctx, upstream)
		server.Answers = err == nil
	}
	return server, nil
}
