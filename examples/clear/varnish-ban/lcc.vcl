# /etc/varnish/lcc.vcl: a cache whose pages LCC bans. Everybody reads.
vcl 4.1;

import std;

backend default {
  .host = "127.0.0.1";
  .port = "8080";
}

sub vcl_recv {
  if (req.method == "BAN") {
    if (req.http.Authorization != "Bearer " + regsub(std.fileread("/etc/varnish/lcc-token"), "\s+$", "")) {
      return (synth(401, "Login needed"));
    }
    if (!req.http.x-ban-url) {
      return (synth(400, "No x-ban-url"));
    }
    # Of objects only: Varnish then removes them by itself, and bans that have met every object go.
    if (std.ban("obj.http.x-lcc-host == " + req.http.host + " && obj.http.x-lcc-url ~ " + req.http.x-ban-url)) {
      return (synth(200, "Banned"));
    }
    return (synth(400, std.ban_error()));
  }
}

sub vcl_backend_response {
  set beresp.http.x-lcc-host = bereq.http.host;
  set beresp.http.x-lcc-url = bereq.url;
}

sub vcl_deliver {
  unset resp.http.x-lcc-host;
  unset resp.http.x-lcc-url;
}
