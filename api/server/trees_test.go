package server

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/genproto/googleapis/api/httpbody"

	aiboxv1 "aibox/api/aibox/v1"
	"aibox/api/aibox/v1/aiboxv1connect"
	"aibox/api/auth"
)

// treeStore does not store trees. It reports the first byte of one.
type treeStore struct {
	aiboxv1connect.UnimplementedSessionsHandler

	begun chan string // the tenant
}

func (s *treeStore) AddTree(ctx context.Context, archive io.Reader) (*aiboxv1.Tree, error) {
	if _, err := io.ReadFull(archive, make([]byte, 1)); err != nil {
		return nil, err
	}
	s.begun <- string(auth.From(ctx).Tenant)
	_, err := io.Copy(io.Discard, archive)
	return &aiboxv1.Tree{TreeId: "tree"}, err
}

func TestATreeIsStoredWhileItIsUploaded(t *testing.T) {
	trees := &treeStore{begun: make(chan string, 1)}
	s := newSite(t, func(o *Options) { o.Services.Sessions = trees; o.Limits = Limits{Message: 1 << 10} })
	if got := s.request("POST", "/v1/trees", "x", bearer(s.token("a", "sessions"))); got.status != 403 {
		t.Errorf("without the right: %d %s", got.status, got.body)
	}
	body, upload := io.Pipe()
	r, err := http.NewRequestWithContext(t.Context(), "POST", s.url+"/v1/trees", body)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+s.token("a"))
	answered := make(chan *http.Response, 1)
	go func() {
		response, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Error(err)
		}
		answered <- response
	}()
	if _, err := upload.Write([]byte("x")); err != nil {
		t.Fatal(err)
	}
	if tenant := <-trees.begun; tenant != "a" { // before the end of the upload
		t.Errorf("the tree belongs to %q", tenant)
	}
	if _, err := upload.Write(make([]byte, 1<<20)); err != nil { // much more than a message can have
		t.Fatal(err)
	}
	_ = upload.Close()
	response := <-answered
	if response == nil {
		return
	}
	defer response.Body.Close()
	if data, err := io.ReadAll(response.Body); response.StatusCode != 200 || !strings.Contains(string(data), `"tree"`) || err != nil {
		t.Errorf("%d %s: %v", response.StatusCode, data, err)
	}
}

// A process without a reader is ended after a while, and an archive can take longer.
func TestACopyIsReadWhileItsArchiveArrives(t *testing.T) {
	s := newSite(t, nil)
	id := s.sandbox("a")
	stream := aiboxv1connect.NewFilesClient(h2c(), s.url, connect.WithGRPC()).Upload(t.Context())
	stream.RequestHeader().Set("Authorization", "Bearer "+s.token("a"))
	_ = stream.Send(&aiboxv1.UploadFilesRequest{SandboxId: id, Path: "/x", Name: "f", Archive: &httpbody.HttpBody{Data: make([]byte, 1<<10)}})
	for begin := time.Now(); ; {
		p, err := s.m.program("00001-sandbox", 1)
		if err == nil && p.record.Idle().IsZero() {
			break
		}
		if time.Since(begin) > time.Minute {
			t.Fatalf("nothing reads the copy: %v", err)
		}
	}
	if _, err := stream.CloseAndReceive(); err != nil {
		t.Error(err)
	}
}

// A copy whose destination is denied can end before all of the archive is sent.
func TestAnUploadReportsWhyItsCopyEnded(t *testing.T) {
	s := newSite(t, nil)
	id := s.sandbox("a")
	stream := aiboxv1connect.NewFilesClient(http.DefaultClient, s.url).Upload(t.Context())
	stream.RequestHeader().Set("Authorization", "Bearer "+s.token("a"))
	first := &aiboxv1.UploadFilesRequest{SandboxId: id, Path: "/denied", Name: "f", Archive: &httpbody.HttpBody{Data: make([]byte, 1<<20)}}
	if err := stream.Send(first); err != nil {
		t.Fatal(err)
	}
	if _, err := stream.CloseAndReceive(); err == nil || !strings.Contains(err.Error(), "permission denied") {
		t.Errorf("the upload ends with %v", err)
	}
}

func TestAnUploadReportsWhatIsNotExtracted(t *testing.T) {
	s := newSite(t, nil)
	id := s.sandbox("a")
	for path, want := range map[string]string{"/special": `"pipe" is left out\x1b[m`, "/x": ""} {
		stream := aiboxv1connect.NewFilesClient(http.DefaultClient, s.url).Upload(t.Context())
		stream.RequestHeader().Set("Authorization", "Bearer "+s.token("a"))
		if err := stream.Send(&aiboxv1.UploadFilesRequest{SandboxId: id, Path: path, Name: "f"}); err != nil {
			t.Fatal(err)
		}
		if answer, err := stream.CloseAndReceive(); err != nil || answer.Msg.GetLeftOut() != want {
			t.Errorf("the upload to %s reports %v: %v", path, answer, err)
		}
		rest := s.request("PUT", "/v1/sandboxes/"+id+"/files/archive?name=f&path="+path, "", bearer(s.token("a")))
		var answer struct{ LeftOut string }
		if err := json.Unmarshal([]byte(rest.body), &answer); err != nil || answer.LeftOut != want {
			t.Errorf("the upload over REST to %s reports %s: %v", path, rest.body, err)
		}
	}
}

// A tar archive cannot say what it lacks, and looks whole if its end is missing.
func TestADownloadReportsWhatItsArchiveLacks(t *testing.T) {
	s := newSite(t, nil)
	id, files := s.sandbox("a"), aiboxv1connect.NewFilesClient(http.DefaultClient, s.url)
	download := func(path string) (archive, left string, _ error) {
		request := connect.NewRequest(&aiboxv1.DownloadFilesRequest{SandboxId: id, Path: path})
		request.Header().Set("Authorization", "Bearer "+s.token("a"))
		stream, err := files.Download(t.Context(), request)
		if err != nil {
			t.Fatal(err)
		}
		for stream.Receive() {
			archive += string(stream.Msg().GetArchive().GetData())
			left += stream.Msg().GetLeftOut()
		}
		return archive, left, stream.Err()
	}
	if archive, left, err := download("/special"); archive != "an archive" || left != `"pipe" is left out\x1b[m` || err != nil {
		t.Errorf("of a folder with a pipe, %q arrives without %q: %v", archive, left, err)
	}
	if archive, _, err := download("/cut"); err == nil {
		t.Errorf("%q looks whole", archive)
	}
}

func TestADownloadOverRESTReportsWhatItsArchiveLacksInATrailer(t *testing.T) {
	s := newSite(t, nil)
	id := s.sandbox("a")
	for path, want := range map[string]string{"/special": `"pipe" is left out\x1b[m`, "/whole": ""} {
		r, err := http.NewRequestWithContext(t.Context(), "GET", s.url+"/v1/sandboxes/"+id+"/files/archive?path="+path, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+s.token("a"))
		response, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_, isAnnounced := response.Trailer["Aibox-Left-Out"]
		archive, err := io.ReadAll(response.Body)
		_ = response.Body.Close()
		if got := response.Trailer.Get("Aibox-Left-Out"); !isAnnounced || got != want || string(archive) != "an archive" || err != nil {
			t.Errorf("of %s, %q arrives with the trailer %q (announced: %t): %v", path, archive, got, isAnnounced, err)
		}
	}
}

func TestTheTextOfATrailerIsShortASCII(t *testing.T) {
	long := strings.Repeat("\u00e4", maxTrailer)
	for text, want := range map[string]string{
		`"a b" \n`: `"a b" \n`, "gr\u00fcn \U0001f600": `gr\u00fcn \U0001f600`, long: strings.Repeat(`\u00e4`, (maxTrailer-len(cutMark))/6) + cutMark,
	} {
		if got := trailerText(text); got != want {
			t.Errorf("%q becomes %q", text, got)
		}
	}
}
