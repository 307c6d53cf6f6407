(function(){
var tip=document.getElementById("tip");
document.querySelectorAll("svg :is(rect,circle,polygon)>title").forEach(function(t){
var mark=t.parentNode;mark.setAttribute("data-tip",t.textContent);mark.removeChild(t)});
document.addEventListener("pointermove",function(e){
var text=e.target.getAttribute&&e.target.getAttribute("data-tip");
if(!text){tip.className="";return}
tip.textContent=text;tip.className="on";
var box=tip.getBoundingClientRect(),x=e.clientX+14,y=e.clientY+16;
if(x+box.width>innerWidth-8)x=Math.max(8,e.clientX-box.width-10);
if(y+box.height>innerHeight-8)y=e.clientY-box.height-10;
tip.style.left=x+"px";tip.style.top=y+"px"});
document.addEventListener("pointerleave",function(){tip.className=""});
})();
