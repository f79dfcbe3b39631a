package scripted

import (
	"net/http"
	"strings"
)

// Model is the id of the one model the server lists. It answers to any.
const Model = "scripted"

// Server answers every dialect's requests by playing a script. It is safe for
// concurrent use, and bounds the memory that all requests take together.
type Server struct {
	script  Script
	intake  *intake
	parsing chan struct{} // held while a request is understood, which takes several times its size
}

// New makes a server that plays script to everyone. Paths are matched by their
// end, so it may stand behind any prefix; one of the form /agent/NAME/ names the
// agent, else its User-Agent does.
func New(script Script) *Server {
	return &Server{script: script, intake: &intake{free: maxIntake}, parsing: make(chan struct{}, 1)}
}

// dialect is one way to put a conversation on the wire.
type dialect interface {
	// parse reads a request. Its errors are the client's fault.
	parse(r *http.Request, body []byte) (Conversation, error)
	// answer writes a turn that is no failure.
	answer(out *output, c Conversation, t Turn)
	// count writes how many tokens a request has.
	count(c Conversation) any
	// failure is the body of an error.
	failure(status int, message string) any
}

// ServeHTTP answers one request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	route := find(r)
	if route.play == nil {
		route.facts(w, r)
		return
	}
	if r.Method != http.MethodPost {
		// A WebSocket upgrade of /v1/responses comes this way too: Codex takes 404 as
		// "there is none" and continues POST.
		refuse(w, route.play, http.StatusNotFound, "only POST is answered here")
		return
	}
	body, err := s.intake.read(http.MaxBytesReader(w, r.Body, maxRequest))
	defer s.intake.release(body)
	if err != nil {
		refuse(w, route.play, statusOf(err), "reading the request: "+err.Error())
		return
	}
	s.converse(w, r, route, body)
}

// understand reads a request, one at a time.
func (s *Server) understand(r *http.Request, d dialect, body []byte) (Conversation, error) {
	s.parsing <- struct{}{}
	defer func() { <-s.parsing }()
	if err := checkValues(body); err != nil {
		return Conversation{}, err
	}
	return d.parse(r, body)
}

// converse plays one turn.
func (s *Server) converse(w http.ResponseWriter, r *http.Request, route route, body []byte) {
	conversation, err := s.understand(r, route.play, body)
	if err != nil {
		refuse(w, route.play, http.StatusBadRequest, "reading the request: "+err.Error())
		return
	}
	conversation.Agent = agentName(r)
	if route.count {
		reply(w, http.StatusOK, route.play.count(conversation))
		return
	}
	turn, err := play(s.script, conversation)
	switch {
	case err != nil:
		refuse(w, route.play, http.StatusBadRequest, err.Error())
	case turn.Fail != nil:
		refuse(w, route.play, turn.Fail.Status, turn.Fail.message())
	default:
		route.play.answer(newOutput(r.Context(), w, turn.Slow), conversation, turn)
	}
}

// refuse answers with an error. A script fails the same way however often it is
// asked, so agents are asked not to wait between their tries: OpenCode makes several
// and would wait minutes.
func refuse(w http.ResponseWriter, d dialect, status int, message string) {
	w.Header().Set("X-Should-Retry", "false")
	w.Header().Set("Retry-After-Ms", "50")
	reply(w, status, d.failure(status, message))
}

// reply writes a JSON body.
func reply(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(append(encode(body), '\n')) // the client is gone if this fails
}

// agents tells agents by the beginning of their User-Agent, in lower case.
var agents = []struct{ prefix, name string }{
	{"codex", "codex"},
	{"claude-cli/0.", "qwen"}, // as which it introduces itself in Anthropic's dialect
	{"claude-cli", "claude"},
	{"geminicli", "gemini"},
	{"qwencode", "qwen"},
	{"opencode", "opencode"},
	{"charm-crush", "crush"},
	{"litellm", "aider"},
	{"openai/js", "copilot"},
	{"anthropic/js", "copilot"},
	{"curl/", "curl"},
}

// agentName returns the agent that sent the request.
func agentName(r *http.Request) string {
	if _, rest, ok := strings.Cut(r.URL.Path, "/agent/"); ok {
		if name, _, ok := strings.Cut(rest, "/"); ok && elementName.MatchString(name) {
			return name
		}
	}
	client := strings.ToLower(r.UserAgent())
	for _, agent := range agents {
		if strings.HasPrefix(client, agent.prefix) {
			return agent.name
		}
	}
	return "an agent"
}
