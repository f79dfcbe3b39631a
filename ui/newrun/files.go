package newrun

import (
	"context"

	"aibox/app/run"
	"aibox/ui/page"
	"aibox/workspace"

	tea "charm.land/bubbletea/v2"
)

// fileLists holds the files of the repository that a run would show to the agent, and those that it
// would hide.
type fileLists struct {
	hidden  []string     // raw
	request *run.Request // the request that they were listed for; nil until the files are known
	err     error
	listing bool // an answer is on its way
	series  page.Latest
}

type filesListed struct {
	request run.Request
	visible fileNames
	hidden  []string
	err     error
}

// reset forgets the files of another repository.
func (f *fileLists) reset() {
	f.series.Cancel()
	f.hidden, f.request, f.err, f.listing = nil, nil, nil, false
}

// list lists the files for a request, unless they are known or on their way.
func (f *fileLists) list(ctx context.Context, runs Runs, r run.Request) tea.Cmd {
	if workspace.IsURL(r.Repository) || f.listing || f.request != nil && r.Equal(*f.request) {
		return nil
	}
	f.listing = true
	return f.series.Replace(func() tea.Msg {
		visible, hidden, err := runs.Files(ctx, r)
		return filesListed{r, newFileNames(visible), hidden, err}
	})
}

// set sets the files. It keeps the earlier ones when the new ones cannot be listed.
func (f *fileLists) set(msg filesListed) {
	f.request, f.listing, f.err = &msg.request, false, msg.err
	if msg.err == nil {
		f.hidden = msg.hidden
	}
}

// filesRequest is the part of a request that decides which files are hidden. It can be the request
// of any agent, since the files do not depend on the agent.
func filesRequest(r run.Request, top, agent string) run.Request {
	return run.Request{Agent: agent, Repository: top, Branch: r.Branch, Settings: r.Settings.Only("hide", "clean")}
}
