# /etc/varnish/lcc.vcl: a cache whose pages LCC purges by key. Everybody reads.
vcl 4.1;

import std;
import xkey;

backend default {
  .host = "127.0.0.1";
  .port = "8080";
}

sub vcl_recv {
  if (req.method == "PURGE") {
    if (req.http.Authorization != "Bearer " + regsub(std.fileread("/etc/varnish/lcc-token"), "\s+$", "")) {
      return (synth(401, "Login needed"));
    }
    # The reason of the answer is the number of objects.
    if (req.http.xkey-purge) {
      return (synth(200, xkey.purge(req.http.xkey-purge)));
    }
    if (req.http.xkey-softpurge) {
      return (synth(200, xkey.softpurge(req.http.xkey-softpurge)));
    }
    return (synth(400, "No keys"));
  }
}

# The site names the contents of a page in the header xkey, with spaces between; readers do not see it.
sub vcl_deliver {
  unset resp.http.xkey;
}

sub vcl_backend_response {
  # How long a page may be served after it was purged softly.
  set beresp.grace = 1h;
}
