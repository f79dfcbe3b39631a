package scripted

import (
	"net/http"
	"strings"
)

// Model is the id of the one model that the server lists. The server answers to any id.
const Model = "scripted"

// Server answers requests in every dialect by playing a script. It is safe for
// concurrent use, and limits the memory of all requests together.
type Server struct {
	script  Script
	intake  *intake
	parsing chan struct{} // held while a request is parsed, which needs several times its size
}

// New returns a server that plays script. It matches the end of a path, so any prefix
// works. A prefix of the form /agent/NAME/ names the agent; without one the User-Agent
// does.
func New(script Script) *Server {
	return &Server{script: script, intake: &intake{free: maxIntake}, parsing: make(chan struct{}, 1)}
}

// dialect is one wire format of a conversation.
type dialect interface {
	// parse reads a request. Its errors are the client's fault.
	parse(r *http.Request, body []byte) (Conversation, error)
	// answer writes a turn that is not a failure.
	answer(out *output, c Conversation, t Turn)
	// count returns the body that reports a request's size in tokens.
	count(c Conversation) any
	// failure returns the body of an error.
	failure(status int, message string) any
}

// ServeHTTP answers one request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	route := routeOf(r)
	if route.play == nil {
		route.facts(w, r)
		return
	}
	if r.Method != http.MethodPost {
		// This also rejects a WebSocket upgrade of /v1/responses: after a 404 Codex
		// uses POST.
		refuse(w, route.play, http.StatusNotFound, "only POST is answered here")
		return
	}
	body, err := s.intake.read(http.MaxBytesReader(w, r.Body, maxRequest))
	defer s.intake.release(body)
	if err != nil {
		refuse(w, route.play, statusOf(err), "reading the request: "+err.Error())
		return
	}
	s.playTurn(w, r, route, body)
}

// parse parses one request at a time.
func (s *Server) parse(r *http.Request, d dialect, body []byte) (Conversation, error) {
	s.parsing <- struct{}{}
	defer func() { <-s.parsing }()
	if err := checkValues(body); err != nil {
		return Conversation{}, err
	}
	return d.parse(r, body)
}

// playTurn plays one turn.
func (s *Server) playTurn(w http.ResponseWriter, r *http.Request, route route, body []byte) {
	conversation, err := s.parse(r, route.play, body)
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

// refuse answers with an error. A script fails in the same way on every try, so the
// answer asks agents not to wait between tries: OpenCode would wait for minutes.
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

// agents maps the beginning of a User-Agent, in lower case, to the agent's name.
var agents = []struct{ prefix, name string }{
	{"codex", "codex"},
	{"claude-cli/0.", "qwen"}, // its User-Agent in Anthropic's dialect
	{"claude-cli", "claude"},
	{"geminicli", "gemini"},
	{"qwencode", "qwen"},
	{"opencode", "opencode"},
	{"charm-crush", "crush"},
	{"litellm", "aider"},
	{"openai/python", "aider"}, // litellm's at a server of OpenAI's dialect
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
