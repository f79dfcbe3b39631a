package spec

// Auto is the word for a number that depends on the machine. Only options with the tag key
// auto take it. The package does not know the number: callers replace the word with
// Replace.
const Auto = "auto"

// autoNumber represents the word in a struct. No option that takes the word accepts this
// number.
const autoNumber = -1

// Replace returns value, which has the form of Value, or the number in text if value is
// the word Auto. The result has the form of Value.
func (f Field) Replace(value, v any, text string) (any, error) {
	if f.Auto == "" || value != Auto {
		return value, nil
	}
	if err := f.Set(v, text); err != nil {
		return nil, err
	}
	return f.Value(v), nil
}
