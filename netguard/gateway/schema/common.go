package schema

// Kinds of values that several dialects have.

// scalars are a scalar or a list of them.
func scalars() either { return either{text: scalar{}, list: list{scalar{}}} }

// cacheControl marks a place up to which the server may reuse what it has read
// before for the same key.
func cacheControl() fields { return fields{"type": scalar{}, "ttl": scalar{}, "scope": scalar{}} }

// typed returns members of an object that has a type.
func typed(f fields) fields { return f.with(fields{"type": scalar{}}) }

// storedFile is the reason why an ID of a stored file is refused.
const storedFile = "it names a file that your account stores, and a session may not read those. Send the content itself"

// storedObject is the reason why a reference to another stored object is refused.
const storedObject = "it names something that your account stores, and a session may not read or change that"

// remote is the reason why a URL is refused.
const remote = "the model's server would fetch the URL from its own network. Send the content itself"
