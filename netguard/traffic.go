package netguard

// Traffic is a number of bytes that may pass the egress proxy.
type Traffic struct {
	Upload, Download               int64 // to and from all hosts together
	UploadPerHost, DownloadPerHost int64 // to and from each of them
}
