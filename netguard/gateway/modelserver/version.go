package modelserver

import (
	"context"
	"fmt"
	"net/http"
	"time"
)

// versionTimeout is how long Ollama may take to report its version. That is the first
// request, which Ollama answers at once or not at all.
const versionTimeout = 300 * time.Millisecond

// Version is that of an Ollama. The zero value is unknown.
type Version [3]int

// Older reports whether v is known and older than other.
func (v Version) Older(other Version) bool {
	if v == (Version{}) {
		return false
	}
	for i := range v {
		if v[i] != other[i] {
			return v[i] < other[i]
		}
	}
	return false
}

// OllamaVersion asks Ollama for its version. It is unknown for other servers, for one that
// does not answer at once, and for builds without a version ("0.0.0").
func OllamaVersion(ctx context.Context, u Server) Version {
	if u.Kind != OllamaHost {
		return Version{}
	}
	ctx, cancel := context.WithTimeout(ctx, versionTimeout)
	defer cancel()
	return askVersion(ctx, u)
}

func askVersion(ctx context.Context, u Server) Version {
	ask, err := u.newClient()
	if err != nil {
		return Version{}
	}
	defer ask.close()
	var answer struct{ Version string }
	ask.fetch(ctx, http.MethodGet, "/api/version", nil, &answer)
	var v Version
	if n, _ := fmt.Sscanf(answer.Version, "%d.%d.%d", &v[0], &v[1], &v[2]); n < 3 || min(v[0], v[1], v[2]) < 0 {
		return Version{}
	}
	return v
}
