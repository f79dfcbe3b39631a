package schema

import (
	"bytes"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"aibox/internal/lazyregexp"
	"aibox/netguard"
)

// text reads a string. It returns false for any other value, which is then left out.
func (w *walk) text() (raw []byte, ok bool, err error) {
	if w.dec.PeekKind() != '"' {
		_, err := w.leave()
		return nil, false, err
	}
	value, err := w.dec.ReadValue()
	if err != nil {
		return nil, false, malformed(err)
	}
	return w.read(len(value)), true, nil
}

// unquote returns the value of the JSON string raw.
func unquote(raw []byte) string {
	text, _ := jsontext.AppendUnquote(nil, raw) // the decoder has found it valid
	return string(text)
}

// writeText writes text as a string.
func (w *walk) writeText(text string) error {
	quoted, err := jsontext.AppendQuote(nil, text)
	if err != nil {
		return malformed(err)
	}
	w.out.write(quoted)
	return nil
}

// modelName passes the session's own models, each under the policy's name for it.
type modelName struct{}

func (modelName) apply(w *walk) (bool, error) {
	raw, ok, err := w.text()
	if !ok || err != nil {
		return false, err
	}
	if strings.HasSuffix(unquote(raw), online) {
		if !w.policy.opens(netguard.WebSearch) {
			return false, w.closed(netguard.WebSearch)
		}
		w.charge(netguard.WebSearch)
	}
	name := w.policy.model(unquote(raw))
	if name == "" {
		return false, NoSuchModel(unquote(raw))
	}
	if w.model != "" && w.model != name { // a list of models, of which the server chooses one
		w.surcharge, w.several = w.at(), true
	}
	w.model = name
	return true, w.writeText(name)
}

// pathModel removes the model from the body.
type pathModel struct{}

func (pathModel) apply(w *walk) (bool, error) {
	_, err := modelName{}.apply(w)
	return false, err // the caller drops the written part
}

// online after a model's name makes OpenRouter search the web.
const online = ":online"

func (p Policy) model(asked string) string {
	if p.Model == nil {
		return ""
	}
	name, own := p.Model(asked)
	if !own {
		return ""
	}
	return name
}

// NoSuchModel refuses a model that is not the session's own.
func NoSuchModel(asked string) *Refusal {
	return &Refusal{NotOurs, "the model \"" + Printable(asked) + "\" is not one of this session's: aibox lets an agent use only the model chosen with --model and those that its options name"}
}

// Printable returns at most 100 bytes of a name in plain ASCII.
func Printable(name string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' {
			return '?'
		}
		return r
	}, name[:min(len(name), 100)])
}

// answerID passes the ID of an answer that this session got.
type answerID struct{}

func (answerID) apply(w *walk) (bool, error) {
	raw, ok, err := w.text()
	if !ok || err != nil {
		return false, err
	}
	id := unquote(raw)
	if id == "" {
		return false, nil
	}
	if w.policy.Answered == nil || !w.policy.Answered(id) {
		return false, forbidden("aibox refused the request because %s does not name an answer of this session: a session may not read what your account has stored otherwise", w.at())
	}
	return true, w.writeText(id)
}

// itemID passes an alias instead of an item's ID, so that the conversation keeps its
// form and refers to nothing that is stored.
type itemID struct{}

func (itemID) apply(w *walk) (bool, error) {
	raw, ok, err := w.text()
	if !ok || err != nil || w.policy.Alias == nil {
		return false, err
	}
	return true, w.writeText(w.policy.Alias(unquote(raw)))
}

// mediaType matches types of inline data: formats that cannot refer to anything outside
// themselves, unlike SVG, HTML, XML and playlists.
const mediaType = `(?:image/(?:png|jpe?g|gif|webp|bmp|tiff|heic|heif|avif)` +
	`|audio/(?:(?:x-|vnd\.)?wave?|x-pn-wav|mpeg|mpga|mp[234]|(?:x-)?m4a|(?:x-)?aac|ogg|opus|(?:x-)?flac|webm|(?:x-)?aiff?|pcm|L16|basic|3gpp2?|amr)` +
	`|video/(?:mp4|(?:x-)?m4v|mpe?g|mpegps|mov|quicktime|avi|x-msvideo|(?:x-)?flv|webm|ogg|(?:x-ms-)?wmv|3gpp2?|x-matroska)` +
	`|application/(?:pdf|json|octet-stream)|text/(?:plain|markdown|csv))`

var (
	dataHead  = lazyregexp.New(`^data:` + mediaType + `(?:;[A-Za-z0-9-]+=[A-Za-z0-9._-]+)*;base64$`)
	mediaOnly = lazyregexp.New(`^` + mediaType + `(?:;\s?[A-Za-z0-9-]+=[A-Za-z0-9._-]+)*$`)
)

// dataURL passes a data: URL with base64 of a known type. Any other URL would be
// fetched by the machine that serves the model.
type dataURL struct{}

func (dataURL) apply(w *walk) (bool, error) {
	raw, ok, err := w.text()
	if !ok || err != nil {
		return false, err
	}
	if !isDataURL(raw) {
		return false, forbidden("aibox refused the request because %s is not a data: URL with base64: the model's server would fetch any other, from its own network. Send the content itself", w.at())
	}
	return w.media(raw)
}

func isDataURL(raw []byte) bool {
	head, data, ok := bytes.Cut(raw, []byte{','})
	return ok && len(head) < 256 && dataHead.Match(bytes.ReplaceAll(head[1:], []byte(`\/`), []byte{'/'})) && isBase64(data[:len(data)-1])
}

// base64Data passes base64.
type base64Data struct{}

func (base64Data) apply(w *walk) (bool, error) {
	raw, ok, err := w.text()
	if !ok || err != nil {
		return false, err
	}
	if !isBase64(raw[1 : len(raw)-1]) {
		return false, forbidden("aibox refused the request because %s is not base64", w.at())
	}
	return w.media(raw)
}

// dataOrBase64 passes the values of both.
type dataOrBase64 struct{}

func (dataOrBase64) apply(w *walk) (bool, error) {
	raw, ok, err := w.text()
	if !ok || err != nil {
		return false, err
	}
	if !isDataURL(raw) && !isBase64(raw[1:len(raw)-1]) {
		return false, forbidden("aibox refused the request because %s is neither a data: URL nor base64", w.at())
	}
	return w.media(raw)
}

// picture passes base64 that begins like a picture, so that a server that also accepts
// paths and URLs here gets none.
type picture struct{}

func (picture) apply(w *walk) (bool, error) {
	raw, ok, err := w.text()
	if !ok || err != nil {
		return false, err
	}
	if data := raw[1 : len(raw)-1]; isPicture(data) && isBase64(data) {
		return w.media(raw)
	}
	return false, forbidden("aibox refused the request because %s is not a PNG, JPEG, GIF, WebP or BMP picture in base64", w.at())
}

// isPicture reports whether base64 begins like a picture.
func isPicture(data []byte) bool {
	begin := bytes.ReplaceAll(data[:min(len(data), 32)], []byte(`\/`), []byte{'/'})
	for _, magic := range []string{"iVBORw0KGgo" /* PNG */, "/9j/" /* JPEG */, "R0lGOD" /* GIF */, "UklGR" /* WebP */, "Qk" /* BMP */} {
		if bytes.HasPrefix(begin, []byte(magic)) {
			return true
		}
	}
	return false
}

// tokensOfPicture and tokensOfDocument estimate what inline data has at most besides a token for each
// byte: a blank picture is short, and a short document can have many pages.
const tokensOfPicture, tokensOfDocument = 2_000, 50_000

// media passes inline data, as a string of JSON, and counts its tokens.
func (w *walk) media(raw []byte) (bool, error) {
	data := raw[1 : len(raw)-1]
	if _, content, ok := bytes.Cut(data, []byte{','}); ok {
		data = content
	}
	if isPicture(data) {
		w.mediaTokens += tokensOfPicture
	} else {
		w.mediaTokens += tokensOfDocument
	}
	w.out.refer(raw)
	return true, nil
}

// mediaName passes the type of the inline data beside it.
type mediaName struct{}

func (mediaName) apply(w *walk) (bool, error) {
	raw, ok, err := w.text()
	if !ok || err != nil {
		return false, err
	}
	name := unquote(raw)
	if !mediaOnly.MatchString(name) {
		return false, forbidden("aibox refused the request because %s is not a type of picture, sound, film or text that it knows", w.at())
	}
	return true, w.writeText(name)
}

// isBase64 reports whether text, as written in JSON, contains only base64.
func isBase64(text []byte) bool {
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '+', c == '/', c == '-', c == '_', c == '=':
		case c == '\\' && i+1 < len(text) && (text[i+1] == '/' || text[i+1] == 'n' || text[i+1] == 'r'):
			i++ // an escaped slash, or a line's end
		default:
			return false
		}
	}
	return true
}
