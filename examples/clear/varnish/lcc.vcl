# /etc/varnish/lcc.vcl: a cache whose pages LCC purges one by one. Everybody reads.
vcl 4.1;

import purge;
import std;

backend default {
  .host = "127.0.0.1";
  .port = "8080";
}

sub vcl_recv {
  # What changes req.url or the host comes before this: an object is found under what it was stored as.
  if (req.method == "PURGE" || req.method == "SOFTPURGE") {
    if (req.http.Authorization != "Bearer " + regsub(std.fileread("/etc/varnish/lcc-token"), "\s+$", "")) {
      return (synth(401, "Login needed"));
    }
    if (req.method == "PURGE") {
      return (purge);
    }
    # Does not wait for a fetch that is under way.
    set req.hash_ignore_busy = true;
    return (hash);
  }
}

# The page is stale from now on: it is still served while a new one is fetched.
sub vcl_hit {
  if (req.method == "SOFTPURGE") {
    purge.soft(0s);
    return (synth(200, "Stale"));
  }
}

sub vcl_miss {
  if (req.method == "SOFTPURGE") {
    purge.soft(0s);
    return (synth(404, "Not cached"));
  }
}

sub vcl_backend_response {
  # How long a stale page may be served.
  set beresp.grace = 1h;
}
