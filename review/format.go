package review

import "aibox/internal/git"

// formatOf tells the object format by an id.
func formatOf(id string) git.Format {
	if len(id) == 2*git.SHA256.Size() {
		return git.SHA256
	}
	return git.SHA1
}
