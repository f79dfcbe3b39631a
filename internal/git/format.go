package git

// FormatOf returns the object format of an id.
func FormatOf(id string) Format {
	if len(id) == 2*SHA256.Size() {
		return SHA256
	}
	return SHA1
}
